// The totals of all programs of a run.
export class Totals {
  programs = 0;
  failed = 0;
  /** Programs whose limit on locked memory was too small to open anything. */
  refused = 0;
  operations = 0;
  bytes = 0;
  /** By kind. */
  faults = new Map();

  /** @param outcome of run() */
  add({ operations, bytes, faults, problems, refused }) {
    this.programs++;
    if (refused !== undefined) this.refused++;
    if (problems.length > 0) this.failed++;
    this.operations += operations;
    this.bytes += bytes;
    for (const [kind, count] of faults) this.faults.set(kind, (this.faults.get(kind) ?? 0) + count);
  }

  /** Polls are made continuously, so a failed poll is a small fault. */
  get #real() {
    return [...this.faults].reduce((sum, [kind, count]) => sum + (kind === 'empty' ? 0 : count), 0);
  }

  toString() {
    const { programs, failed, refused, operations, bytes, faults } = this;
    const kinds = [...faults].map(([kind, count]) => `${kind} ${count}`);
    return (
      `${programs} programs, ${refused} of which opened nothing, ${operations} operations, ${(bytes / 1e9).toFixed(3)} GB moved and checked, ` +
      `${this.#real} faults and ${faults.get('empty') ?? 0} empty polls (${kinds.join(', ')})\n` +
      `${programs - failed} passed, ${failed} failed`
    );
  }
}
