import { type BackPressureMessage, backPressure } from '../base/channels.js';
import type { DriverKind } from '../base/drivers.js';
import { STATS } from '../contract/layout.js';

/** The names of a domain: `info.fabricAttr` and `info.domainAttr`. */
export interface DomainNames {
  readonly fabric: string | null;
  readonly domain: string | null;
  readonly provider: string | null;
}

const COUNT = STATS.indexOf('backPressure');

/** Publishes one engine's back-pressure on the channel `libfabric:backpressure`. */
export class BackPressure {
  readonly #stats: BigUint64Array;
  readonly #names: DomainNames;
  readonly #driver: DriverKind;
  #published = 0;
  #publishing = false;

  constructor(stats: BigUint64Array, names: DomainNames, driver: DriverKind) {
    this.#stats = stats;
    this.#names = names;
    this.#driver = driver;
  }

  /** Publishes how often the provider has returned FI_EAGAIN since the last call. */
  check(): void {
    const total = Number(this.#stats[COUNT]);
    const times = total - this.#published;
    this.#published = total;
    if (times > 0) this.publish('provider', times);
  }

  publish(by: BackPressureMessage['by'], times: number): void {
    // Not for the operations of a subscriber, which could cause the next message.
    if (!backPressure.hasSubscribers || this.#publishing) return;
    const { domain, provider } = this.#names;
    this.#publishing = true;
    try {
      backPressure.publish({ by, times, domain, provider, driver: this.#driver });
    } finally {
      this.#publishing = false;
    }
  }
}
