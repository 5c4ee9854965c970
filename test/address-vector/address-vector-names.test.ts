// av.insertService() with names, and with a slow resolver.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { getInfo, open } from 'libfabric';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';
import { preloading } from '../support/preload.js';
import { drivers } from '../support/providers.js';
import { knowsDomain, NO_SERVICES, NOT_PORTS } from '../support/services.js';
import { endpoint, fabricError } from '../support/transfer.js';

const folder = mkdtempSync(join(tmpdir(), 'libfabric-names-'));
const library = join(folder, 'slow-resolver.so');
const fifo = join(folder, 'fifo');
const programs = fileURLToPath(new URL('../programs/', import.meta.url));

beforeAll(() => {
  const source = join(programs, 'slow-resolver.cc');
  execFileSync('c++', ['-std=c++17', '-shared', '-fPIC', '-o', library, source, '-ldl']);
  execFileSync('mkfifo', [fifo]);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.each([
  ['tcp', 'FI_EP_RDM'],
  ['udp', 'FI_EP_DGRAM'],
] as const)('%s', (provider, type) => {
  const available = getInfo({ fabricAttr: { provName: provider }, epAttr: { type } }).length > 0;

  test.skipIf(!available).each(drivers)(
    'a slow resolver does not block the event loop, %s driver',
    async (driver) => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [join(programs, 'slow-resolver.mjs'), provider, type, driver],
        {
          env: { ...process.env, ...preloading(library), SLOW_RESOLVER: fifo },
          timeout: HANG_MS,
          killSignal: 'SIGKILL',
        },
      );
      const { early, address } = JSON.parse(stdout);
      expect(early).toBe(false);
      expect(address).toEqual([2, 0, 29, 47, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    },
  );
});

test('a service name and a port number return the same peer as the address', async (context) => {
  const ep = await endpoint(context, 'tcp;ofi_rxm', ['FI_MSG']);
  const port = new DataView(ep.address.buffer).getUint16(2);
  const self = ep.av.insert(ep.address);
  expect(await ep.av.insertService('127.0.0.1', port)).toBe(self);
  expect(await ep.av.insertService('127.0.0.1', String(port))).toBe(self);
  expect(ep.av.lookup(self)).toEqual(ep.address);
});

test('an unknown service name is refused with FI_EADDRNOTAVAIL', async (context) => {
  const ep = await endpoint(context, 'tcp;ofi_rxm', ['FI_MSG']);
  await expect(ep.av.insertService('127.0.0.1', 'no-such-service')).rejects.toThrow(
    /^FI_EADDRNOTAVAIL: .*fi_av_insertsvc \(.+\)/,
  );
});

test.each(NOT_PORTS)('the service %j is no port, and is refused', async (service) => {
  const ep = await open({ provider: 'tcp', node: '127.0.0.1' });
  onTestFinished(() => ep.close());
  await expect(ep.av.insertService('127.0.0.1', service)).rejects.toMatchObject({
    name: 'RangeError',
    code: 'ERR_OUT_OF_RANGE',
    message: expect.stringContaining('service must be a port from 0 to 65535, or the name'),
  });
});

test.each(NO_SERVICES)('the service %j is no port, and unknown', async (service) => {
  const ep = await open({ provider: 'tcp', node: '127.0.0.1' });
  onTestFinished(() => ep.close());
  const inserted = ep.av.insertService('127.0.0.1', service);
  await expect(inserted).rejects.toMatchObject({ code: 'FI_EADDRNOTAVAIL' });
});

test.runIf(knowsDomain)('the name of a service is its port', async () => {
  const ep = await open({ provider: 'tcp', node: '127.0.0.1' });
  onTestFinished(() => ep.close());
  const peer = await ep.av.insertService('127.0.0.1', 'domain');
  expect(await ep.av.insertService('127.0.0.1', '053')).toBe(peer);
  expect(ep.av.insert('127.0.0.1:53')).toBe(peer);
});

test.for(['shm', 'efa'])('%s has no service names', async (provider, context) => {
  const ep = await endpoint(context, provider, ['FI_MSG']);
  await expect(ep.av.insertService('127.0.0.1', 1)).rejects.toThrow(
    fabricError('FI_ENOSYS') as never,
  );
});
