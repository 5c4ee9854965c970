// libfabric/objects: a signal that aborts, or close(), between two steps of a loop ends the loop at its next step.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectClient } from 'libfabric/objects';
import { expect, test } from 'vitest';
import { MIB, serve, TCP } from '../support/object-stores.js';

const loops = {
  'stream of one piece': (client: ObjectClient, options: { signal?: AbortSignal }) =>
    client.stream('short', options),
  stream: (client: ObjectClient, options: { signal?: AbortSignal }) =>
    client.stream('long', options),
  list: (client: ObjectClient, options: { signal?: AbortSignal }) => client.list(options),
  'list of one entry': (client: ObjectClient, options: { signal?: AbortSignal }) =>
    client.list({ ...options, prefix: 'short' }),
};

const ways = [
  ['the fabric', TCP, {}],
  ['node:http', undefined, {}],
  ['fetch', undefined, { fetch }],
] as const;

test.each(ways)('over %s', async (_way, fabric, options) => {
  const { folder, connect } = await serve(fabric);
  writeFileSync(join(folder, 'long'), randomBytes(40 * MIB));
  writeFileSync(join(folder, 'short'), 'bytes');
  for (let i = 0; i < 3; i++) writeFileSync(join(folder, String(i)), '');
  for (const loop of Object.values(loops)) {
    const client = await connect(options);
    const aborting = new AbortController();
    const reason = new Error('enough');
    const aborted = loop(client, { signal: aborting.signal });
    await aborted.next();
    await new Promise((resolve) => setImmediate(resolve)); // others may have arrived
    aborting.abort(reason);
    await expect(aborted.next()).rejects.toBe(reason);

    const closed = loop(client, {});
    await closed.next();
    await client.close();
    await expect(closed.next()).rejects.toMatchObject({ code: 'ERR_CLOSED' });
  }
});
