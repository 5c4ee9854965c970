// libfabric/objects: channels that are idle keep no other client out.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { decodeMessage } from '../../dist/objects/channel.js';
import { Channels } from '../../dist/objects/channel-server.js';
import { ask, upgrade } from '../support/object-channels.js';
import { closed } from '../support/strangers.js';

/** A server of channels that answers nothing before it is told to. */
async function serveChannels(most: number) {
  const waiting: (() => void)[] = [];
  const service = {
    arriving: { part() {}, whole() {} },
    handle: () =>
      new Promise((resolve) => waiting.push(() => resolve({ status: 204, fields: {} }))),
  };
  const http = createServer((_request, response) => response.end('over HTTP'));
  const detach = new Channels(service as never, most).attach(http);
  await once(http.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    detach();
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const answerAll = () => {
    for (const answer of waiting.splice(0)) answer();
  };
  return { port, answerAll, waiting };
}

const answered = async (socket: Socket) => {
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return decodeMessage(bytes).head[0];
};

test('for another channel, the one ends that is idle and whose last request is the longest ago', async () => {
  const { port, answerAll, waiting } = await serveChannels(3);
  const open = async () => (await upgrade(port)).socket;
  const [first, second, third] = [await open(), await open(), await open()];
  for (const each of [first, third, second, first]) {
    const answer = answered(each);
    ask(each, 1, '/b/a');
    await expect.poll(() => waiting.length).toBe(1);
    answerAll();
    expect(await answer).toBe(204);
  }
  ask(third, 2, '/b/a'); // it has a call in progress
  await expect.poll(() => waiting.length).toBe(1);
  await open();
  await closed(second);
  await open();
  await closed(first);
  expect(third.destroyed).toBe(false);
});

test('if all have calls in progress, a further client uses HTTP', async () => {
  const { port, answerAll, waiting } = await serveChannels(2);
  const channels = [(await upgrade(port)).socket, (await upgrade(port)).socket];
  for (const each of channels) ask(each, 1, '/b/a');
  await expect.poll(() => waiting.length).toBe(2);
  expect((await upgrade(port)).status).toBe(200);
  const answers = channels.map(answered);
  answerAll();
  expect(await Promise.all(answers)).toEqual([204, 204]);
  expect((await upgrade(port)).status).toBe(101);
});
