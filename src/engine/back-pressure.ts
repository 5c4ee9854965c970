import { type BackPressureMessage, backPressure } from '../diagnostics.js';
import type { DomainNames, DriverKind } from './engine.js';
import { STATS } from './layout.js';

const COUNT = STATS.indexOf('backPressure');

/** Tells the channel `libfabric:backpressure` of one engine's. */
export class BackPressure {
  readonly #stats: BigUint64Array;
  readonly #names: DomainNames;
  readonly #driver: DriverKind;
  #told = 0;

  constructor(stats: BigUint64Array, names: DomainNames, driver: DriverKind) {
    this.#stats = stats;
    this.#names = names;
    this.#driver = driver;
  }

  /** Tells how often the provider has had no room since the last look. */
  look(): void {
    const total = Number(this.#stats[COUNT]);
    if (total > this.#told) this.tell('provider', total - this.#told);
    this.#told = total;
  }

  tell(by: BackPressureMessage['by'], times: number): void {
    if (!backPressure.hasSubscribers) return;
    const { domain, provider } = this.#names;
    backPressure.publish({ by, times, domain, provider, driver: this.#driver });
  }
}
