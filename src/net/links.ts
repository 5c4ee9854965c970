import type { NetSessionState } from '../diagnostics/net-state.js';
import type { Carried } from './port.js';
import type { Link, Ports } from './ports.js';

/** The links of a session to the endpoints of its peer, which carry its packets. */
export class Links {
  readonly #session: Carried;
  readonly #ports: Ports | undefined;
  readonly #links: readonly Link[];
  /** Those that are used. */
  readonly #used: Set<Link>;
  #holds = false;

  /** @param ports the endpoints of this side. close() releases them. */
  constructor(session: Carried, ports: Ports | undefined, links: readonly Link[]) {
    this.#session = session;
    this.#ports = ports;
    this.#links = links;
    this.#used = new Set(links);
  }

  /** Whether any is used. */
  get any(): boolean {
    return this.#used.size > 0;
  }

  get provider(): string {
    return this.#ports?.provider ?? '';
  }

  /** The NIC of a link. */
  nic(number: number): string {
    return this.#links[number]?.port.nic ?? '';
  }

  state(): NetSessionState['nics'] {
    return this.#links.map((link) => ({
      nic: link.port.nic,
      state: this.#used.has(link) ? 'up' : 'lost',
    }));
  }

  carry(): void {
    for (const [number, { port, peer }] of this.#links.entries())
      port.carry(this.#session, peer, number);
  }

  /** Sends the packets of the session. Those that one link has no room for travel over the next. */
  send(): void {
    const [link] = this.#used;
    link?.port.send(this.#session.number);
  }

  /** Sets whether they keep the event loop alive. */
  hold(on: boolean): void {
    if (on === this.#holds) return;
    this.#holds = on;
    for (const { port } of this.#used) port.hold(on ? 1 : -1);
  }

  /** Whether no other link is used. */
  isLast(number: number): boolean {
    return this.#used.size === 1 && this.#used.has(this.#links[number] as Link);
  }

  /** Uses a link no more. */
  lose(number: number): void {
    const link = this.#links[number] as Link;
    if (this.#used.delete(link) && this.#holds) link.port.hold(-1);
  }

  /** Uses a link again. */
  find(number: number): void {
    const link = this.#links[number] as Link;
    if (!this.any || this.#used.has(link)) return;
    this.#used.add(link);
    if (this.#holds) link.port.hold(1);
  }

  /** Uses none any more. */
  leave(): void {
    for (const number of this.#links.keys()) this.lose(number);
    this.#ports?.leave(this.#session.number);
  }

  close(): void {
    this.leave();
    for (const { port, peer, address } of this.#links) port.forget(peer, address);
    this.#ports?.release();
  }
}
