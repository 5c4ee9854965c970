// The host of a rank.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** A host. Several hosts may have the same name, and containers of one host may have several names. */
export interface Host {
  readonly name: string;
  /** The same for all processes of a host, and different on each host. */
  readonly id: string;
}

/** The host of this process. A node of softefa acts as a host for efa. */
export function thisHost(provider: string | undefined): Host {
  const id = bootId() ?? hostname();
  const { SOFTEFA_NODE: node } = process.env;
  if (node === undefined || (provider !== undefined && provider !== 'efa')) {
    return { name: hostname(), id };
  }
  return { name: `${hostname()} (node ${node})`, id: `${id} ${node}` };
}

/** The random number of this boot of the kernel. The containers of a host share it. */
function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** The host of each rank: a number for each host, and names that differ if the hosts do. */
export function placesOf(hosts: readonly Host[]): { host: string; machine: number }[] {
  const ids = [...new Set(hosts.map(({ id }) => id))];
  return hosts.map(({ name, id }) => {
    const namesakes = new Set(hosts.filter((each) => each.name === name).map((each) => each.id));
    const machine = ids.indexOf(id);
    return { host: namesakes.size > 1 ? `${name} #${machine}` : name, machine };
  });
}
