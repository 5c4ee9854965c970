// The samples of all rounds, and the verdicts of the bars on their medians.

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const COMPARE = {
  speed: (ours, theirs) => theirs / ours,
  time: (ours, theirs) => ours / theirs,
  more: (ours, theirs) => ours - theirs,
  value: (ours) => ours,
};

export class Results {
  #series = new Map(); // 'group|contender|size' -> { unit, rounds: [[figure, ...], ...] }

  add(group, contender, round, { size, usPerOp, value = usPerOp, unit = 'us' }) {
    const key = keyOf(group, contender, size);
    if (!this.#series.has(key)) this.#series.set(key, { unit, rounds: [] });
    const { rounds } = this.#series.get(key);
    rounds[round] ??= [];
    rounds[round].push(value);
  }

  /**
   * Returns the bar with the ratio (or difference) of medians, with the median of the ratios of
   * neighbouring turns (which is steadier if the speed of the machine changes during a run), and with
   * the lowest and highest ratio of a round's medians. `met` is undefined without a limit or a figure.
   */
  judge(bar) {
    const { group, size, kind, limit } = bar;
    const ours = this.#series.get(keyOf(group, bar.contender, size))?.rounds;
    const alone = bar.against === undefined;
    const theirs = alone ? ours : this.#series.get(keyOf(group, bar.against, size))?.rounds;
    if (!ours || !theirs) return bar;
    const compare = (a, b) => COMPARE[kind](median(a), median(b));
    const measured = compare(ours.flat(), theirs.flat());
    const both = ours.map((turns, i) => [turns, theirs[i] ?? []]);
    const byTurns = both.flatMap(([a, b]) =>
      a.slice(0, b.length).map((figure, turn) => COMPARE[kind](figure, b[turn])),
    );
    const byRounds = both.filter(([, b]) => b.length > 0).map(([a, b]) => compare(a, b));
    return {
      ...bar,
      measured,
      byTurns: median(byTurns),
      lowest: Math.min(...byRounds),
      highest: Math.max(...byRounds),
      met: limit && (kind === 'speed' ? measured >= limit : measured <= limit),
    };
  }

  toJSON() {
    const series = [...this.#series].map(([key, { unit, rounds }]) => {
      const [group, contender, size] = key.split('|');
      return {
        group,
        contender,
        size: size ? Number(size) : undefined,
        unit,
        median: median(rounds.flat()),
        rounds,
      };
    });
    const order = [...new Set(series.map(({ group }) => group))];
    return series.sort(
      (a, b) => order.indexOf(a.group) - order.indexOf(b.group) || (a.size ?? 0) - (b.size ?? 0),
    );
  }
}

const keyOf = (group, contender, size) => [group, contender, size ?? ''].join('|');
