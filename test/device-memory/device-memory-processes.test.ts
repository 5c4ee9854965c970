// Memory of a GPU in another process.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { open } from 'libfabric';
import { expect, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { FakeGpu, whyNoDmabuf } from '../support/device-memory.js';
import { settle } from '../support/settle.js';
import { withSoftefa } from '../support/softefa.js';
import { closing } from '../support/transfer.js';

const program = fileURLToPath(new URL('../programs/device-memory.mjs', import.meta.url));
const SIZE = 1 << 20;

test.for(['process_vm', 'bounce'])(
  'efa-direct: a peer writes and reads device memory of another process: %s',
  async (copy, context) => {
    const reason = whyNoDmabuf('efa-direct');
    context.skip(reason !== undefined, reason);
    const [near, far] = [new FakeGpu(SIZE), new FakeGpu(SIZE)];
    const child = fork(program, [String(SIZE)], {
      serialization: 'advanced',
      env: { ...withSoftefa(), SOFTEFA_COPY: copy },
      stdio: ['ignore', 'inherit', 'inherit', far.fd, 'ipc'],
    });
    try {
      type Opened = { address: Uint8Array; descriptor: Uint8Array };
      const [{ address, descriptor }] = (await settle(once(child, 'message'))) as [Opened];
      const ep = closing(
        await open({ provider: 'efa', fabric: 'efa-direct', caps: ['FI_MSG', 'FI_RMA'] }),
      );
      const rights = ['FI_SEND', 'FI_READ', 'FI_WRITE'] as const;
      const region = await ep.domain.register(near.part(0, SIZE), rights);
      const peer = ep.av.insert(address);
      const inserted = once(child, 'message');
      child.send(ep.address);
      await settle(inserted);
      const remote = ep.domain.remote(descriptor);

      near.fill(pattern(SIZE, 1));
      await ep.write(region, peer, remote);
      expectBytes(far.bytes(), pattern(SIZE, 1));
      far.fill(pattern(SIZE, 2));
      await ep.read(region, peer, remote);
      expectBytes(near.bytes(), pattern(SIZE, 2));
      near.fill(pattern(SIZE, 3));
      const answer = once(child, 'message');
      await ep.send(region.slice(100, 5100), peer);
      expect((await settle(answer))[0]).toEqual({ length: 5000 });
      expectBytes(far.bytes().subarray(0, 5000), pattern(SIZE, 3).subarray(100, 5100));
      expectBytes(far.bytes().subarray(5000), pattern(SIZE, 2).subarray(5000));

      const exited = once(child, 'exit');
      child.send('close');
      expect(await settle(exited)).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
    }
  },
);
