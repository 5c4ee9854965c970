/** A rank that transfers, and the rank that it transfers to. */
export interface RankPair {
  readonly from: number;
  readonly to: number;
}

/**
 * Rounds that pair every rank with every other rank once. In each round, a rank has at most one
 * partner. This is the circle method of tournaments: one rank keeps its place, and the others move on
 * by one place.
 */
export function tournament(ranks: number): RankPair[][] {
  const places = ranks + (ranks % 2); // a rank that is paired with the place beyond the last rank pauses
  const around = places - 1;
  return Array.from({ length: Math.max(0, around) }, (_, round) => {
    const at = (place: number) => (round + place) % around;
    const pairs = [{ from: at(0), to: around }];
    for (let i = 1; i < places / 2; i++) pairs.push({ from: at(i), to: at(around - i) });
    return pairs.filter(({ from, to }) => from < ranks && to < ranks);
  });
}

/**
 * The rounds of a measurement.
 *
 * @param concurrent measure all pairs of a round at once; otherwise each pair alone.
 * @param bothWays measure each pair in both directions.
 */
export function schedule(ranks: number, concurrent: boolean, bothWays: boolean): RankPair[][] {
  const rounds = tournament(ranks).flatMap((round) =>
    bothWays ? [round, round.map(({ from, to }) => ({ from: to, to: from }))] : [round],
  );
  return concurrent ? rounds : rounds.flatMap((round) => round.map((pair) => [pair]));
}
