import type { MatrixRank, MatrixResult } from './result.js';
import { median } from './statistics.js';

/** A rank or a pair is slow below this share of the median pair's speed. */
export const SLOW = 0.8;

/** Where the two ranks of a pair are. Pairs are compared with pairs of the same place only. */
export const PLACES = ['within', 'between'] as const;
export type PairPlace = (typeof PLACES)[number];

/** In words. */
export const PLACE_TEXT: Readonly<Record<PairPlace, string>> = {
  within: 'within a host',
  between: 'between hosts',
};

/** A figure for pairs of each place; NaN if there are none. */
export type ByPlace = Readonly<Record<PairPlace, number>>;

export function placeOf(a: MatrixRank, b: MatrixRank): PairPlace {
  const known = a.machine !== undefined && b.machine !== undefined;
  return (known ? a.machine === b.machine : a.host === b.host) ? 'within' : 'between';
}

/** The number of hosts. */
export function hostsOf(ranks: readonly MatrixRank[]): number {
  return new Set(ranks.map(({ machine, host }) => machine ?? host)).size;
}

/** A measured pair. */
export interface Pair {
  /** Indices of the ranks. */
  readonly from: number;
  readonly to: number;
  readonly place: PairPlace;
  readonly value: number;
  /** A multiple of the median pair's speed at the same place: 0.5 is half as fast. */
  readonly speed: number;
}

/** A matrix with its median pairs. */
export class PairSpeeds {
  readonly matrix: MatrixResult;
  readonly pairs: readonly Pair[];
  /** The median pair's value. */
  readonly medians: ByPlace;

  constructor(matrix: MatrixResult) {
    this.matrix = matrix;
    const { ranks } = matrix;
    const pairs = matrix.values.flatMap((row, from) =>
      row.flatMap((value, to) => {
        if (from === to || value === null) return [];
        const place = placeOf(ranks[from] as MatrixRank, ranks[to] as MatrixRank);
        return [{ from, to, place, value }];
      }),
    );
    this.medians = byPlace((place) => median(valuesAt(pairs, place)));
    this.pairs = pairs.map((pair) => ({
      ...pair,
      speed: speedOf(matrix, pair.value, this.medians[pair.place]),
    }));
  }

  /** The places that have pairs. */
  get places(): PairPlace[] {
    return PLACES.filter((place) => !Number.isNaN(this.medians[place]));
  }

  /** Pairs that failed. */
  get failed(): number {
    const { length } = this.matrix.ranks;
    return length * (length - 1) - this.pairs.length;
  }
}

/** A value as a multiple of a typical one's speed: higher bandwidth or lower time is faster. */
export function speedOf({ metric }: MatrixResult, value: number, typical: number): number {
  return metric === 'us' ? typical / value : value / typical;
}

/** A rank's pairs, as a sender and as a receiver. */
export interface RankSpeed extends MatrixRank {
  /** Its median values as a sender, in the matrix's unit. */
  readonly sends: ByPlace;
  /** Relative to the median pairs, at the place where it is slower; NaN if there is no value. */
  readonly sendSpeed: number;
  readonly receives: ByPlace;
  readonly receiveSpeed: number;
  readonly slow: boolean;
}

/** Each rank's medians, and which ranks are slow. */
export function rankSpeeds(speeds: PairSpeeds): RankSpeed[] {
  const [sent, received] = [groupedBy(speeds.pairs, 'from'), groupedBy(speeds.pairs, 'to')];
  return speeds.matrix.ranks.map((rank, i) => {
    const sends = sideOf(speeds, sent.get(i) ?? []);
    const receives = sideOf(speeds, received.get(i) ?? []);
    return {
      ...rank,
      sends: sends.values,
      sendSpeed: sends.speed,
      receives: receives.values,
      receiveSpeed: receives.speed,
      slow: sends.slow || receives.slow,
    };
  });
}

/** A rank as a sender, or as a receiver. A single slow pair of a place does not make it slow. */
function sideOf({ medians, matrix }: PairSpeeds, pairs: readonly Pair[]) {
  const values = byPlace((place) => median(valuesAt(pairs, place)));
  const speedAt = (places: readonly PairPlace[]) =>
    places
      .filter((place) => valuesAt(pairs, place).length > 0)
      .map((place) => speedOf(matrix, values[place], medians[place]))
      .reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const several = PLACES.filter((place) => valuesAt(pairs, place).length > 1);
  const speed = speedAt(several.length > 0 ? several : PLACES);
  return {
    values,
    speed: pairs.length === 0 ? Number.NaN : speed,
    slow: several.length > 0 && speed < SLOW,
  };
}

/** The slow pairs of ranks that are not slow themselves, slowest first. */
export function slowPairs({ pairs }: PairSpeeds, ranks: readonly RankSpeed[]): Pair[] {
  const found = pairs.filter(
    ({ from, to, speed }) => speed < SLOW && !ranks[from]?.slow && !ranks[to]?.slow,
  );
  return found.sort((a, b) => a.speed - b.speed);
}

const byPlace = (figure: (place: PairPlace) => number): ByPlace => ({
  within: figure('within'),
  between: figure('between'),
});

const valuesAt = (pairs: readonly Omit<Pair, 'speed'>[], place: PairPlace): number[] =>
  pairs.filter((pair) => pair.place === place).map(({ value }) => value);

function groupedBy(pairs: readonly Pair[], side: 'from' | 'to'): Map<number, Pair[]> {
  const groups = new Map<number, Pair[]>();
  for (const pair of pairs) {
    const group = groups.get(pair[side]);
    if (group) group.push(pair);
    else groups.set(pair[side], [pair]);
  }
  return groups;
}
