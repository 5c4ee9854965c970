import { allocate, type CudaMemory } from 'libfabric/cuda';
import { afterEach } from 'vitest';

/** Returns a function that keeps memory until the end of the test, and then frees it. */
export function freedAfterwards(): (memory: CudaMemory) => CudaMemory {
  const made: CudaMemory[] = [];
  afterEach(() => {
    for (const memory of made.splice(0)) memory.free();
  });
  return (memory) => {
    made.push(memory);
    return memory;
  };
}

/** Memory with this content, not freed yet. */
export function cudaMemoryOf(content: Uint8Array): CudaMemory {
  const memory = allocate(content.length);
  memory.write(content);
  return memory;
}
