import {
  type Perf,
  perfHeader,
  perfRow,
  perfYaml,
  perfYamlHeader,
} from '../../../shared/perf-table.js';
import type { TestSide } from './test-side.js';

const NAME_WIDTH = 50;

/**
 * The figures that some tests print besides their verdict: fabtests' table, with names or without.
 */
export class PerfLines {
  readonly #side: TestSide;
  #first = true;

  constructor(side: TestSide) {
    this.#side = side;
  }

  tell(perf: Perf, name?: string): void {
    const { output, command, argv } = this.#side.settings;
    const named = (text: string | undefined) => text?.padEnd(NAME_WIDTH) ?? '';
    if (output === 'yaml') {
      if (this.#first) this.#side.figures(perfYamlHeader(['libfabric', command, ...argv]));
      this.#side.figures(perfYaml(perf));
    } else {
      if (this.#first) this.#side.figures(named(name && 'name') + perfHeader());
      this.#side.figures(named(name) + perfRow(perf));
    }
    this.#first = false;
  }
}
