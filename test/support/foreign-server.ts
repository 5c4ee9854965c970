// Servers of objects that are not of this package: tests write their answers.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ObjectClient, type ObjectClientOptions } from 'libfabric/objects';
import { onTestFinished } from 'vitest';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** What each answer about an object has. */
export const OBJECT = { etag: '"a"', 'last-modified': 'Sun, 29 Nov 2026 12:00:00 GMT' };

/** The URL of a bucket whose server answers so. */
export async function foreignServer(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.on('error', () => {});
    answer(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${Object(server.address()).port}/b`;
}

/** A client of such a server. */
export async function foreignClient(answer: Answer, options: ObjectClientOptions = {}) {
  const client = new ObjectClient(await foreignServer(answer), options);
  onTestFinished(() => client.close());
  return client;
}

/** An answer. */
export const says =
  (
    status: number,
    headers: Record<string, string | number>,
    body: string | Uint8Array = '',
  ): Answer =>
  (_request, response) => {
    response.writeHead(status, headers).end(body);
  };

/** An answer that does not end. `sent()` counts the bytes that were passed to the connection. */
export function endless(status: number, headers: Record<string, string | number>, first = '') {
  let bytes = 0;
  const chunk = Buffer.alloc(2 ** 18, 'a');
  const answer: Answer = (_request, response) => {
    response.writeHead(status, headers).write(first);
    const write = () => {
      while (!response.destroyed) {
        bytes += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', write);
      }
    };
    write();
  };
  return { answer, sent: () => bytes };
}

/** A list with this content. */
export const listOf = (content: string, isTruncated = 'false') =>
  `<?xml version="1.0"?><ListBucketResult xmlns="x"><IsTruncated>${isTruncated}</IsTruncated>${content}</ListBucketResult>`;

/** An object in a list. */
export const listed = (key: string, more: Record<string, string> = {}) => {
  const of = {
    Key: key,
    Size: '5',
    ETag: '"a"',
    LastModified: '2026-11-29T12:00:00.000Z',
    ...more,
  };
  const elements = Object.entries(of).map(([name, text]) => text && `<${name}>${text}</${name}>`);
  return `<Contents>${elements.join('')}</Contents>`;
};
