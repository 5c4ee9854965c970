// Memory of a GPU, for tests without one: a file of tmpfs, which softefa registers as a dmabuf. This process never maps
// the file, and the addresses of its regions have no access. A copy by the host would therefore end the process.
import {
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import type { DmabufMemory, MemoryRegion } from 'libfabric';
import { getInfo, getParams, version } from 'libfabric';
import { expect } from 'vitest';
import { afterEveryTest } from './every-test.js';
import { partId } from './softefa.js';

let made = 0;
const open = new Set<FakeGpu>();

afterEveryTest(() => {
  for (const gpu of open) gpu.close();
});

/** Memory that is accessible only through its file and by the device. */
export class FakeGpu {
  readonly fd: number;
  readonly size: number;

  constructor(size: number) {
    const path = `/dev/shm/libfabric-test-gpu-${process.pid}-${made++}`;
    this.fd = openSync(path, 'wx+');
    rmSync(path);
    ftruncateSync(this.fd, size);
    this.size = size;
    open.add(this);
  }

  /** A part of the memory, to register. */
  part(offset: number, byteLength: number): DmabufMemory {
    return { type: 'dmabuf', fd: this.fd, offset, byteLength };
  }

  fill(bytes: Uint8Array, offset = 0): void {
    expect(writeSync(this.fd, bytes, 0, bytes.length, offset)).toBe(bytes.length);
  }

  bytes(): Uint8Array {
    const bytes = new Uint8Array(this.size);
    expect(readSync(this.fd, bytes, 0, this.size, 0)).toBe(this.size);
    return bytes;
  }

  close(): void {
    if (open.delete(this)) closeSync(this.fd);
  }
}

/** The access rights of the addresses of a region in this process: `---p`. Undefined if nothing is mapped there. */
export function accessOf({ address }: MemoryRegion): string | undefined {
  for (const line of readFileSync('/proc/self/maps', 'latin1').split('\n')) {
    const [, from, to, access] = line.match(/^(\w+)-(\w+) (\S+)/) ?? [];
    if (from === undefined || address < BigInt(`0x${from}`) || address >= BigInt(`0x${to}`))
      continue;
    return access;
  }
  return undefined;
}

/** Returns the reason if this libfabric cannot use a dmabuf on the fabric. */
export function whyNoDmabuf(fabric: 'efa' | 'efa-direct'): string | undefined {
  const { major, minor } = version();
  if (major < 2) return `libfabric ${major}.${minor} has no dmabufs for efa without FI_HMEM`;
  if (fabric === 'efa' && major === 2 && minor < 6) {
    return `efa of libfabric ${major}.${minor} may read with the CPU`;
  }
  if (fabric === 'efa' && partId === 0xefa0) return 'a 0xefa0 has no RDMA write';
  const hints = { fabricAttr: { provName: 'efa', name: fabric }, caps: ['FI_RMA'] } as const;
  return getInfo(hints).length > 0 ? undefined : `no ${fabric} with RMA on this device`;
}

/** Returns the reason if this libfabric cannot use pointers of CUDA on the fabric. */
export function whyNoCuda(fabric: 'efa' | 'efa-direct' = 'efa'): string | undefined {
  const withCuda = getParams().some(({ name }) => name === 'FI_HMEM_CUDA_USE_GDRCOPY');
  if (!withCuda) return 'this libfabric was built without CUDA';
  const caps = ['FI_MSG', 'FI_RMA', 'FI_HMEM'] as const;
  const found = getInfo({ fabricAttr: { provName: 'efa', name: fabric }, caps });
  return found.length > 0 ? undefined : `no ${fabric} with ${caps.join(', ')}`;
}

const LIBFABRIC = /(\/\S*\/libfabric\.so\S*)/;

/** Returns the reason if this libfabric cannot use pointers of Neuron on the fabric. */
export function whyNoNeuron(fabric: 'efa' | 'efa-direct' = 'efa'): string | undefined {
  version(); // loads the library
  // Only since 2.5 a variable shows it (FI_HMEM_NEURON_USE_DMABUF).
  const [, library = ''] = readFileSync('/proc/self/maps', 'latin1').match(LIBFABRIC) ?? [];
  const withNeuron = readFileSync(library).includes('nrt_memcpy_to_device');
  if (!withNeuron) return 'this libfabric was built without Neuron';
  if (partId === 0xefa0) return 'a 0xefa0 has no RDMA read';
  return fabric === 'efa-direct' ? whyNoDmabuf(fabric) : undefined;
}
