import { FabricError } from '../../errors.js';
import type { Needs } from '../fabtests/open-endpoint.js';
import { Session } from '../fabtests/session.js';
import type { Settings } from '../fabtests/settings.js';
import type { Alone } from './benchmark.js';

// V8 compiles what runs often while it runs, and takes 20 to 30 ms for it, on the same core where the
// process is pinned to one. fabtests' 10,000 exchanges of 64 bytes take 5 ms over shm.
const ITERATIONS = 20_000;
const SIZE = 8; // bytes
// What is compiled for the first run alone is thrown away with the second, and what is compiled while
// nothing was ever closed with the first close(), or the second.
const SESSIONS = 3;
const RUNS = 2;
// Objects have another shape from about the tenth time on that a function makes one, as V8 begins to
// watch it then: what is compiled for the shape of before is thrown away. 20 sizes bring that about.
const SIZES = 20;
const FEW = 100; // iterations

/**
 * Does what is about to be timed with an endpoint that talks to itself over shm, so that V8 has
 * compiled it when the clock starts. The other side and the network see nothing of it. Without shm
 * the first iterations are slower.
 *
 * @param work is called several times.
 */
export async function rehearse(settings: Settings, needs: Needs, work: Alone): Promise<void> {
  for (let session = 0; session < SESSIONS; session++) {
    const alone = await openAlone(settings, needs);
    if (alone === undefined) return;
    try {
      for (let size = 0; size < SIZES; size++) await work(alone, SIZE, FEW);
      for (let run = 0; run < RUNS; run++) await work(alone, SIZE, ITERATIONS);
    } finally {
      await alone.close();
    }
  }
}

async function openAlone(settings: Settings, needs: Needs): Promise<Session | undefined> {
  const { fabric, domain, addrFormat, sourceAddress, sourcePort, ...others } = settings;
  const here: Settings = {
    ...others,
    host: 'localhost',
    provider: 'shm',
    type: 'FI_EP_RDM',
    oobExchange: true, // addresses need no names
    oobSync: false,
    warmUp: 0,
    verify: false,
    prefix: false,
  };
  try {
    return await Session.alone(here, needs);
  } catch (error) {
    if (error instanceof FabricError) return undefined;
    throw error;
  }
}
