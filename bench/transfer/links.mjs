// The links of the software devices of both processes, with a limited speed or a fault.
import { SoftefaFaults } from 'libfabric/softefa';
import { NICS } from './pair.mjs';

export class Links {
  #faults;
  #rates = new Map(); // 'node/nic' -> fault

  /** @param rate megabytes per second of each link and direction */
  constructor(namespace, rate) {
    this.#faults = new SoftefaFaults({ namespace });
    for (const node of [0, 1]) {
      for (let nic = 0; nic < NICS; nic++) this.limit(node, nic, rate);
    }
  }

  limit(node, nic, rate) {
    const key = `${node}/${nic}`;
    this.#rates.get(key)?.remove();
    this.#rates.set(key, this.#faults.add('rate', { node, nic, value: rate }));
  }

  add(kind, options) {
    return this.#faults.add(kind, options);
  }

  close() {
    this.#faults.close();
  }
}
