// The processes of the simulation. They run several programs, until one of them fails or has run enough programs.
import { softefaEnvironment } from 'libfabric/softefa';
import { Player } from './process.mjs';

/** A process is replaced after this number of programs, because its provider keeps resources (limits.mjs). */
const MOST = 20;

const PORTS = 16;

export class Pool {
  #namespace;
  /** Below the ephemeral ports of systems. */
  #firstPort = 12_000 + 64 * (process.pid % 300);
  #players = new Map();
  #taken = new Map();

  constructor(namespace) {
    this.#namespace = namespace;
  }

  /**
   * The index-th process of a provider. It has transferred something before, if it may lock enough memory.
   *
   * @param memlock bytes that it may lock. If omitted, no limit
   */
  async take(provider, index, memlock = 'unlimited') {
    const key = `${provider}/${index}`;
    const player = this.#players.get(key);
    const times = (this.#taken.get(key) ?? 0) + 1;
    this.#taken.set(key, times);
    if (player?.running && player.memlock === memlock && times % MOST !== 0) return player;
    await player?.end();
    const fresh = new Player(index, memlock, this.#environment(provider, index, memlock));
    this.#players.set(key, fresh);
    await warmUp(fresh, provider);
    return fresh;
  }

  #environment(provider, node, memlock) {
    if (provider === 'tcp') return { ...process.env, ...this.#portsOf(node) };
    if (provider !== 'efa') return process.env;
    const options = {
      namespace: this.#namespace,
      node,
      keep: false,
      asynchronous: true,
      memlock,
      timeout: 2000,
    };
    return { ...process.env, ...softefaEnvironment(options), FI_EFA_ENABLE_SHM_TRANSFER: '0' };
  }

  /** A process has few ports, so that a reopened endpoint often has the address of a closed one. */
  #portsOf(node) {
    const first = this.#firstPort + node * PORTS;
    return { FI_TCP_PORT_LOW_RANGE: `${first}`, FI_TCP_PORT_HIGH_RANGE: `${first + PORTS - 1}` };
  }

  /** Ends all processes. */
  async drop() {
    const players = [...this.#players.values()];
    this.#players.clear();
    await Promise.all(players.map((player) => player.end()));
  }
}

/** The provider allocates its process-wide resources. */
async function warmUp(player, provider) {
  const options = { provider, ...(provider === 'tcp' && { node: '127.0.0.1' }) };
  for (const driver of ['thread', 'loop']) {
    const transfers = { maps: false, longest: 1, arena: 1 };
    const wanted = { options, driver, caps: ['FI_MSG', 'FI_RMA'], transfers };
    await player.ask('open', wanted).catch((error) => {
      if (player.memlock === 'unlimited' || error.code !== 'FI_ENOMEM') throw error;
    });
    await player.ask('close');
  }
}
