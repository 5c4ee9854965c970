import '../support/softefa.js';
import { Fabric, getInfo } from 'libfabric';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HANG_MS } from '../support/limits.js';
import { fabricError } from '../support/transfer.js';

const PROVIDERS = ['shm', 'tcp;ofi_rxm', 'efa'];
const FORMATS = [
  'FI_CQ_FORMAT_UNSPEC',
  'FI_CQ_FORMAT_CONTEXT',
  'FI_CQ_FORMAT_MSG',
  'FI_CQ_FORMAT_DATA',
] as const;

describe.each(PROVIDERS)('%s', (provName) => {
  test.each(FORMATS)(
    'a queue of %s tells lengths, and of messages that are too long',
    async (format) => {
      const hints = {
        caps: ['FI_MSG'],
        epAttr: { type: 'FI_EP_RDM' },
        fabricAttr: { provName },
      } as const;
      const [info] = getInfo(hints);
      if (info === undefined) throw new Error(`no ${provName}`);
      const fabric = Fabric.open(info);
      onTestFinished(() => fabric.close());
      const domain = fabric.domain(info);
      const cq = domain.completionQueue({ format });
      const ep = domain.endpoint(info, { cq, av: domain.addressVector() });
      const self = ep.av.insert(ep.address);
      const receive = (bytes: number) => ep.recv(new Uint8Array(bytes), null, { timeout: HANG_MS });
      const received = receive(10);
      await ep.send(new Uint8Array(7).fill(1), self);
      expect((await received).length).toBe(7);
      const short = receive(4).catch((error) => error);
      await ep.send(new Uint8Array(10).fill(1), self);
      expect(await short).toEqual(fabricError('FI_ETRUNC'));
      expect(cq.format).toBe('FI_CQ_FORMAT_DATA');
    },
  );
});

test('the size of a queue is known if it was given', async () => {
  const [info] = getInfo({ epAttr: { type: 'FI_EP_RDM' }, fabricAttr: { provName: 'shm' } });
  if (info === undefined) throw new Error('no shm');
  const fabric = Fabric.open(info);
  onTestFinished(() => fabric.close());
  const domain = fabric.domain(info);
  expect(domain.completionQueue({ size: 256 }).size).toBe(256);
  expect(domain.completionQueue().size).toBeUndefined();
});
