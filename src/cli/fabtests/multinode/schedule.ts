/** One rank that measures towards another. */
export interface RankPair {
  readonly from: number;
  readonly to: number;
}

/**
 * Rounds in which every rank meets every other once. No rank is twice in a round: the circle method
 * of tournaments, where one stays and the others move on by a place.
 */
export function tournament(ranks: number): RankPair[][] {
  const places = ranks + (ranks % 2); // the place beyond the last rank is a rest
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
 * @param concurrent all the pairs of a round at once; else each alone.
 * @param bothWays each pair in either direction.
 */
export function schedule(ranks: number, concurrent: boolean, bothWays: boolean): RankPair[][] {
  const rounds = tournament(ranks).flatMap((round) =>
    bothWays ? [round, round.map(({ from, to }) => ({ from: to, to: from }))] : [round],
  );
  return concurrent ? rounds : rounds.flatMap((round) => round.map((meeting) => [meeting]));
}
