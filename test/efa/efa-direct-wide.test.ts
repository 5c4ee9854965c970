// Injects of up to 80 bytes over efa-direct, by wide entries of the send queue: libfabric 2.7 with an rdma-core that has
// inline_buf_size_ex.
import { getInfo, open } from 'libfabric';
import { expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { release } from '../support/release.js';
import { settle } from '../support/settle.js';
import { fabricError } from '../support/transfer.js';
import '../support/softefa.js';

/** The inline size of an ordinary entry. */
const ORDINARY = 32;

const hints = (injectSize: number) => ({
  fabricAttr: { provName: 'efa', name: 'efa-direct' },
  epAttr: { type: 'FI_EP_RDM' as const },
  txAttr: { injectSize },
});

const has = (injectSize: number) => getInfo(hints(injectSize)).length > 0;

test.for([48, 64, 80])(
  'messages and writes of up to %i bytes are injected',
  async (size, { skip }) => {
    skip(!has(ORDINARY), 'no efa-direct');
    skip(!has(size), 'no wide entries: libfabric before 2.7, or an rdma-core without them');
    const options = {
      ...{ provider: 'efa', fabric: 'efa-direct', txAttr: { injectSize: size } },
      caps: ['FI_MSG', 'FI_RMA'] as const,
    };
    const [a, b] = [await open(options), await open(options)];
    const drive = <T>(promise: Promise<T>) => settle(promise, a.domain, b.domain);
    const toB = a.av.insert(b.address);
    b.av.insert(a.address);
    expect(a.info.txAttr.injectSize).toBe(size);
    const memory = await b.domain.allocate(4096, ['FI_REMOTE_WRITE']);
    const remote = a.domain.remote(memory.descriptor());
    for (let length = 1; length <= size; length++) {
      const target = new Uint8Array(length);
      const received = b.recv(target);
      const sent = pattern(length, length);
      await drive(a.inject(sent, toB));
      sent.fill(0); // its bytes are in the queue
      await drive(received);
      expectBytes(target, pattern(length, length));
      await drive(a.injectWrite(pattern(length, size + length), toB, remote));
      await drive(Promise.all([b.recv(new Uint8Array(1)), a.send(new Uint8Array(1), toB)]));
      expectBytes(memory.bytes.subarray(0, length), pattern(length, size + length));
    }
    const longer = drive(a.inject(new Uint8Array(size + 1), toB));
    await expect(longer).rejects.toMatchObject({ code: 'ERR_OUT_OF_RANGE' });
    await Promise.all([a.close(), b.close()]);
  },
);

test('longer injects than the device has room for are refused when an endpoint is opened', async ({
  skip,
}) => {
  skip(!has(ORDINARY), 'no efa-direct');
  if (release() < 207) expect(has(ORDINARY + 1)).toBe(false);
  expect(has(81)).toBe(false);
  const opened = open({ provider: 'efa', fabric: 'efa-direct', txAttr: { injectSize: 81 } });
  await expect(opened).rejects.toEqual(fabricError('FI_ENODATA'));
});
