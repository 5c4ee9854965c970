// One side of a round: its endpoints, its traffic, and their end.
import { opened } from './conditions.mjs';
import { Settlements } from './lateness.mjs';
import { regionOf, sendFromNew, Traffic } from './traffic.mjs';

const CLOSE_TIMEOUT = 100; // ms
const SETTLE_LIMIT = 3000; // ms after which an unsettled promise counts as lost

export class Side {
  #round;
  #channel;
  #acts;
  #settlements = new Settlements();
  #endpoints = [];
  #region;
  #traffic;
  #other;
  #opening;
  #closings = [];
  #failures = [];
  #slowestClose = 0;

  /** @param {'survivor' | 'victim'} role */
  constructor(round, role, channel) {
    this.#channel = channel;
    this.#round = role === 'victim' ? { ...round, driver: round.victimDriver } : round;
    this.#acts = round.actor === role;
  }

  /**
   * Opens a side, connects it to the other one, and performs the steps before the round's event.
   *
   * @param {'survivor' | 'victim'} role
   */
  static async start(round, role, channel) {
    const side = new Side(round, role, channel);
    channel.send('open', await side.open());
    await side.connect(await channel.next('connect'));
    channel.send('connected');
    if (round.moment === 'after') await side.complete();
    if (round.moment === 'while') side.begin();
    channel.send('ready');
    return side;
  }

  /** Opens an endpoint, and sends its address to the peer. */
  async open() {
    const endpoint = await this.#openEndpoint();
    this.#region = await regionOf(endpoint);
    return { address: endpoint.address, descriptor: this.#region.descriptor() };
  }

  /** Inserts the address of the peer, and exchanges a first message. */
  async connect(other) {
    this.#other = other;
    const [endpoint] = this.#endpoints;
    this.#traffic = new Traffic(this.#round, this.#acts, endpoint, other, this.#settlements);
    await this.#traffic.handshake();
  }

  /** Starts its traffic, which runs until stop(). */
  begin() {
    this.#traffic.stream();
    if (!this.#acts) return;
    if (this.#round.action === 'close') this.#close();
    if (this.#round.action === 'open') this.#opening = this.#openMore();
  }

  /** Runs a few operations to completion. */
  async complete() {
    await this.#traffic.piece();
    if (!this.#acts) return;
    if (this.#round.action === 'open') await this.#openOne();
    if (this.#round.action === 'close') {
      this.#close();
      await Promise.all(this.#closings);
    }
  }

  stop() {
    this.#traffic.stop();
  }

  /** Waits until everything has settled, closes, and returns the problems. */
  async end() {
    this.stop();
    this.#channel.send('step', 'settling');
    const late = await this.#settlements.all(SETTLE_LIMIT);
    for (const what of late) this.#failures.push(`the promise of a ${what} does not settle`);
    await this.#opening;
    this.#channel.send('step', 'closing');
    this.#close();
    await Promise.all(this.#closings);
    for (const what of await this.#settlements.all(0)) {
      this.#failures.push(`close() does not settle the promise of a ${what}`);
    }
    return {
      failures: this.#failures,
      operations: this.#settlements.count,
      late: this.#settlements.worst,
      close: this.#slowestClose,
    };
  }

  async #openMore() {
    while (this.#traffic.streaming) await this.#openOne();
  }

  async #openOne() {
    const [, previous] = this.#endpoints;
    if (previous !== undefined) await this.#timedClose(this.#endpoints.pop());
    sendFromNew(await this.#openEndpoint(), this.#other, this.#settlements);
    await new Promise(setImmediate);
  }

  async #openEndpoint() {
    const endpoint = await opened(this.#round.provider, this.#round.driver);
    this.#endpoints.push(endpoint);
    this.#channel.send('address', endpoint.address);
    return endpoint;
  }

  #close() {
    for (const endpoint of this.#endpoints.splice(0)) {
      this.#closings.push(this.#timedClose(endpoint));
    }
  }

  async #timedClose(endpoint) {
    const what = this.#round.closes === 'domain' ? endpoint.domain : endpoint;
    const before = performance.now();
    try {
      await what.close({ timeout: CLOSE_TIMEOUT });
    } catch (error) {
      this.#failures.push(`close() of the ${this.#round.closes} rejects: ${error}`);
    }
    this.#slowestClose = Math.max(this.#slowestClose, performance.now() - before - CLOSE_TIMEOUT);
  }
}
