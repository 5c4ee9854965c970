import { allocate, type CudaMemory } from 'libfabric/cuda';
import { onTestFinished } from 'vitest';

/** Frees memory at the end of the test, after its endpoints were closed. */
export function freedAfterwards(memory: CudaMemory): CudaMemory {
  onTestFinished(() => memory.free());
  return memory;
}

/** Memory with this content, not freed yet. */
export function cudaMemoryOf(content: Uint8Array): CudaMemory {
  const memory = allocate(content.length);
  memory.write(content);
  return memory;
}
