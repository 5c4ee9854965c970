import type { Peer } from '../base/peer.js';
import { getInfo } from '../info/info.js';
import { type Place, Port, type PortOptions } from './port.js';

/** Which endpoints carry the packets of a session. */
export interface FabricOptions extends Omit<PortOptions, 'domain' | 'number'> {
  /**
   * The most NICs that a session uses, for their bandwidth and in case one is lost. Default: 2. For providers other than
   * efa, the number of endpoints; default: 1.
   */
  readonly nics?: number;
  /**
   * 'fabric': without the fabric, connections fail. By default, packets then travel over the control connection, with an
   * event `'fallback'` and a warning.
   */
  readonly require?: 'fabric' | undefined;
}

const DEFAULT_NICS = 2;

/** The endpoints of a side, one on each NIC. */
export class Ports {
  readonly #ports: readonly Port[];

  private constructor(ports: readonly Port[]) {
    this.#ports = ports;
  }

  /**
   * Opens them, or takes those that are open. Each call that succeeds needs a release(). With `place`, they keep the packets
   * of a session until its links are made, because the peer may know the session before this side does.
   */
  static async take(options: FabricOptions, place?: Place): Promise<Ports> {
    const taken = await Promise.allSettled(nicsFor(options).map((nic) => Port.take(nic, place)));
    const ports = taken.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failed = taken.find((each) => each.status === 'rejected');
    // A NIC that cannot be opened is one that is lost.
    if (ports.length === 0 && failed) throw (failed as PromiseRejectedResult).reason;
    return new Ports(ports);
  }

  release(): void {
    for (const port of this.#ports) port.release();
  }

  get provider(): string {
    return this.#ports[0]?.provider ?? '';
  }

  /** The format of the addresses. */
  get format(): string {
    return this.#ports[0]?.format ?? '';
  }

  get addresses(): Uint8Array[] {
    return this.#ports.map(({ address }) => address);
  }

  /** Whether all read the memory of peers. */
  get reads(): boolean {
    return this.#ports.every(({ reads }) => reads);
  }

  get packetSize(): number {
    return Math.min(...this.#ports.map(({ packetSize }) => packetSize));
  }

  leave(session: number): void {
    for (const port of this.#ports) port.leave(session);
  }

  /** Links to the endpoints of a peer. */
  async meet(addresses: readonly Uint8Array[]): Promise<Link[]> {
    const count = Math.min(addresses.length, this.#ports.length);
    return Promise.all(
      this.#ports.slice(0, count).map(async (port, i) => {
        const address = addresses[i] as Uint8Array;
        return { port, address, peer: await port.meet(address) };
      }),
    );
  }
}

/** An endpoint and the peer's endpoint that it reaches. */
export interface Link {
  readonly port: Port;
  readonly peer: Peer;
  readonly address: Uint8Array;
}

function nicsFor(options: FabricOptions): PortOptions[] {
  const { provider, nics } = options;
  if (provider !== undefined && /efa/.test(provider)) {
    const all = nicsOf(provider).map((domain) => ({ ...options, domain }));
    if (all.length > 0) return all.slice(0, nics ?? DEFAULT_NICS);
  }
  return Array.from({ length: nics ?? 1 }, (_, number) => ({ ...options, number }));
}

// efa-direct has other endpoints on the same NICs.
function nicsOf(provider: string): string[] {
  const entries = getInfo({
    caps: ['FI_MSG'],
    epAttr: { type: 'FI_EP_RDM' },
    fabricAttr: { provName: provider },
  });
  const names = entries.flatMap(({ fabricAttr, domainAttr }) =>
    fabricAttr.name !== 'efa-direct' && domainAttr.name ? [domainAttr.name] : [],
  );
  return [...new Set(names)];
}
