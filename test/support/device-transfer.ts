// Transfers between the memory of two devices, as dmabufs over efa-direct.
import { type HmemMemory, open } from 'libfabric';
import type { AcceleratorMemory, AllocateOptions, Dmabuf } from 'libfabric/rocr';
import { expect } from 'vitest';
import { expectBytes, pattern } from './bytes.js';
import { accessOf } from './device-memory.js';
import { Pair } from './transfer.js';

const CAPS = ['FI_MSG', 'FI_RMA'] as const;
const MIB = 1 << 20;

/** The part of an accelerator's module that the transfer uses. */
interface Library {
  allocate(byteLength: number, options?: AllocateOptions): AcceleratorMemory;
  exportDmabuf(memory: HmemMemory): Dmabuf;
}

/** Writes memory of device 0 to a part of memory of device 1, and reads it back. Every byte is checked. */
export async function writeAndReadBack(type: HmemMemory['type'], library: Library): Promise<void> {
  const { allocate, exportDmabuf } = library;
  const opening = { provider: 'efa', fabric: 'efa-direct', caps: CAPS } as const;
  const [a, b] = [await open(opening), await open(opening)];
  const { toB } = new Pair<'FI_EP_RDM', (typeof CAPS)[number]>(a, b);
  const [from, to] = [allocate(MIB), allocate(MIB, { device: 1 })];
  from.write(pattern(MIB, 1));
  to.write(pattern(MIB, 2));
  const near = from.dmabuf();
  const far = exportDmabuf({
    ...{ type, device: 1, pointer: to.pointer + 4096n, byteLength: MIB - 4096 },
  });
  const source = await a.domain.register(near, ['FI_READ', 'FI_WRITE']);
  const target = await b.domain.register(far, ['FI_REMOTE_READ', 'FI_REMOTE_WRITE']);
  near.close();
  far.close();
  const remote = a.domain.remote(target.descriptor());
  await a.write(source.slice(100, 65_637), toB, remote, { offset: 33 });
  const expected = pattern(MIB, 2);
  expected.set(pattern(MIB, 1).subarray(100, 100 + 65_537), 4096 + 33);
  expectBytes(bytesOf(to), expected);

  await a.read(source.slice(0, 10_000), toB, remote, { offset: 5 });
  const read = pattern(MIB, 1);
  read.set(expected.subarray(4096 + 5, 4096 + 10_005));
  expectBytes(bytesOf(from), read);
  for (const region of [source, target]) expect(accessOf(region)).toBe('---p');
  await a.close();
  await b.close();
  from.free();
  to.free();
}

const bytesOf = (memory: AcceleratorMemory) => memory.read(new Uint8Array(memory.byteLength));
