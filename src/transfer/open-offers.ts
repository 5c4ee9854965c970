import type { Offer } from './offer.js';

/** The open offers of memory. */
export class OpenOffers {
  readonly #offers = new Set<Promise<Offer>>();

  /** Keeps an offer until it is released. */
  add(opening: Promise<Offer>): Promise<Offer> {
    const forget = () => this.#offers.delete(opening);
    this.#offers.add(opening);
    opening.then(({ released }) => released.then(forget), forget);
    return opening;
  }

  /** Ends the offers. Resolves when all are released. */
  async end(why: string): Promise<void> {
    const opened = await Promise.allSettled(this.#offers);
    const ending = opened.map((each) => each.status === 'fulfilled' && each.value.end(why));
    await Promise.all(ending);
  }
}
