import type { FabricOptions } from '../net/ports.js';
import type { TransferEngine } from '../transfer/index.js';

/**
 * Which endpoints carry the messages of a channel. Over efa and shm they are faster than TCP. The other providers use TCP
 * themselves, and a message takes longer over them than over the connection that exists: 0.4 ms instead of 0.2 ms.
 */
export function fabricOf(engine: TransferEngine | undefined): FabricOptions {
  const [provider = ''] = engine?.provider.split(';') ?? [];
  return provider === 'efa' || provider === 'shm' ? { provider } : {};
}
