import type { PeerLink } from '../../common/peer-link.js';

const PROTOCOL = 'libfabric check 1';

/** The tests that a side is to run. */
export interface Plan {
  readonly names: readonly string[];
  /** Options that must be the same on both sides. */
  readonly common: string;
}

/** The options of the two sides do not match. */
export class Disagreement extends Error {
  override readonly name = 'Disagreement';
}

/** The tests that both sides run, in the order of this side. */
export async function agreeOn(own: Plan, link: PeerLink, seconds: number): Promise<string[]> {
  link.send({ protocol: PROTOCOL, ...own });
  const first = await link.expectFirst('libfabric check', seconds);
  const theirs = first as Partial<Plan> & { protocol?: string };
  if (theirs?.protocol !== PROTOCOL) {
    throw new Disagreement(`the peer is not ${PROTOCOL}; both need the same release`);
  }
  const { names = [], common = '' } = theirs;
  if (common !== own.common) {
    throw new Disagreement(
      `both sides need the same -p, -f, -b and -E: here ${own.common}, there ${common}`,
    );
  }
  const both = own.names.filter((name) => names.includes(name));
  if (both.length > 0) return both;
  throw new Disagreement('--only and --skip of the two sides exclude every check');
}
