import { FabricError } from '../../../../errors.js';
import type { Needs } from '../../common/open-endpoint.js';
import { Session } from '../../common/session.js';
import type { Settings } from '../../common/settings.js';
import type { Alone } from './benchmark.js';

// V8 compiles what runs often while it runs, and takes 20 to 30 ms for it, on the same core where the
// process is pinned to one. fabtests' 10,000 exchanges of 64 bytes take 5 ms over shm.

const SIZE = 8; // bytes

/** What is done in a session with oneself, and how often. */
interface Rehearsal {
  readonly sizes: number;
  readonly iterations: number;
  readonly window?: number;
}

// What is done once a size: objects have another shape from about the tenth time on that a function
// makes one, as V8 begins to watch it then, and what is compiled for the shape of before is thrown
// away.
const EACH_SIZE: Rehearsal = { sizes: 30, iterations: 256 };
// What is done in every step, of which small windows give many.
const EACH_STEP: Rehearsal = { sizes: 2, iterations: 20_000, window: 2 };
// What is compiled for the first session is thrown away with the second, and what is compiled while
// nothing was ever closed with the first close(), or the second.
const REHEARSALS = [EACH_SIZE, EACH_STEP, EACH_STEP, EACH_STEP];

/**
 * Does what is about to be timed with an endpoint that talks to itself over shm, so that V8 has
 * compiled it when the clock starts. The other side and the network see nothing of it. Without shm
 * the first iterations are slower.
 *
 * @param work is called several times.
 */
export async function rehearse(
  settings: Settings,
  needs: (settings: Settings) => Needs,
  work: Alone,
): Promise<void> {
  for (const { sizes, iterations, window = settings.window } of REHEARSALS) {
    const alone = await openAlone({ ...settings, window }, needs);
    if (alone === undefined) return;
    try {
      for (let size = 0; size < sizes; size++) await work(alone, SIZE, iterations);
    } finally {
      await alone.close();
    }
  }
}

async function openAlone(
  settings: Settings,
  needs: (settings: Settings) => Needs,
): Promise<Session | undefined> {
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
    deliveryComplete: false,
    prefix: false,
  };
  try {
    return await Session.alone(here, needs(here));
  } catch (error) {
    if (error instanceof FabricError) return undefined;
    throw error;
  }
}
