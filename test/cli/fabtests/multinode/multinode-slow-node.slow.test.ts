// The commands find a node with a slow link among ranks that each act as a host.
import { SoftefaFaults } from 'libfabric/softefa';
import { expect, onTestFinished, test } from 'vitest';
import { matrixLines } from '../../../../dist/cli/fabtests/multinode/matrix-table.js';
import { parseResult } from '../../../../dist/cli/report/schema.js';
import type { MatrixResult } from '../../../../dist/cli/shared/result.js';
import { PairSpeeds, rankSpeeds } from '../../../../dist/cli/shared/slow-ranks.js';
import { freePort } from '../../../support/free-port.js';
import { namespace, nodeVariables, startRanks } from '../../../support/ranks.js';

// With 5 ranks, most pairs do not include the slow one.
const RANKS = [0, 1, 2, 3, 4];
const SLOW = 2;
const WORK = ['-S', '1024', '-W', '4', '--json', '--ranks', `${RANKS.length}`];
// Milliseconds, long enough that scheduling does not matter.
const [DELAY, LONGER] = [10, 60];

test.each([
  ['pairwise', '--concurrent', '-I', '20'],
  ['pairwise', '--metric', 'latency', '-I', '2'],
  ['all-to-all', '-o', 'read', '--seconds', '0.5'],
])(
  '%s %s reports the node with the slow link, and no other',
  { timeout: 90_000 },
  async (command, ...options) => {
    const faults = new SoftefaFaults({ namespace });
    onTestFinished(() => faults.close());
    faults.set({ delay: DELAY });
    const slow = faults.add('delay', { node: SLOW, value: LONGER });

    const root = `127.0.0.1:${await freePort()}`;
    const started = startRanks(RANKS, (rank) => ({
      args: [command, ...options, ...WORK, '--rank', `${rank}`, '--root', root],
      env: nodeVariables(rank),
    }));
    const all = await Promise.all(started.map(({ ended }) => ended));
    for (const { code, stderr } of all) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    }

    const result = parseResult(JSON.parse(all[0]?.stdout ?? '')) as MatrixResult;
    const found = rankSpeeds(new PairSpeeds(result)).filter((rank) => rank.slow);
    expect(found).toMatchObject([{ rank: SLOW }]);
    expect(found[0]?.sendSpeed).toBeLessThan(0.5);
    expect(found[0]?.receiveSpeed).toBeLessThan(0.5);
    const reported = matrixLines(result).filter((line) => line.startsWith('slow: rank'));
    expect(reported).toEqual([expect.stringMatching(`rank ${SLOW} `)]);
    expect(slow.hits).toBeGreaterThan(0);
  },
);
