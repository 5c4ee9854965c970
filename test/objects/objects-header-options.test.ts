// libfabric/objects: options that travel in headers are checked before anything is sent, however it would be sent.
import type { ObjectClient } from 'libfabric/objects';
import { expect, test } from 'vitest';
import { serve, TCP } from '../support/object-stores.js';

const calls: Record<string, (client: ObjectClient, options: object) => Promise<unknown>> = {
  get: (client, options) => client.get('a', options),
  stream: (client, options) => client.stream('a', options).next(),
  put: (client, options) => client.put('a', 'x', options),
  head: (client, options) => client.head('a', options),
  delete: (client, options) => client.delete('a', options),
};

test.each([
  ['a channel', TCP, {}],
  ['node:http', undefined, {}],
  ['fetch', undefined, { fetch }],
] as const)('over %s', async (_way, fabric, options) => {
  const asked: string[] = [];
  const authorize = ({ key }: { key: string }) => key === '' || asked.push(key) > 0;
  const { connect } = await serve(fabric, { authorize });
  const client = await connect(options);
  for (const [name, call] of Object.entries(calls))
    for (const option of ['ifMatch', 'ifNoneMatch'])
      for (const value of ['a\r\nx: y', 'a\nb', 'a\0', '\u65e5\u672c']) {
        const message = expect.stringContaining(`options.${option}`);
        const rejects = expect(call(client, { [option]: value }), `${name} ${option}`).rejects;
        await rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE', message });
      }
  expect(asked).toEqual([]);
});
