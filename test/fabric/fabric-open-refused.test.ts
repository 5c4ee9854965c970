// After an endpoint fails to open, the next one can be opened in the same domain.
import { Fabric } from 'libfabric';
import { expect, test } from 'vitest';
import { drivers, reliable } from '../support/providers.js';
import { settle } from '../support/settle.js';
import { available, closing, entryOf } from '../support/transfer.js';

const combinations = reliable.flatMap((provider) =>
  drivers.map((driver) => [provider, driver] as const),
);

// An option that the provider does not have.
const foreignTo = (provider: string) =>
  provider === 'efa' ? { FI_OPT_FIREWALL_ADDR: true } : { FI_OPT_EFA_RNR_RETRY: 3 };

test.for(combinations)(
  '%s, %s: an endpoint opens after another has failed to open',
  async ([provider, driver], context) => {
    const info = entryOf(available(context, provider, ['FI_MSG']), ['FI_MSG']);
    const fabric = closing(Fabric.open(info));
    const domain = fabric.domain(info, { driver });
    const av = domain.addressVector();
    const cq = domain.completionQueue();
    const counter = domain.counter();

    // The two steps that a caller can make fail: setting an option and binding a counter.
    for (let round = 0; round < 3; round++) {
      expect(() => domain.endpoint(info, { av, cq, options: foreignTo(provider) })).toThrow(
        expect.objectContaining({ syscall: 'fi_setopt' }),
      );
      expect(() =>
        domain.endpoint(info, { av, cq, counters: [{ counter, flags: ['FI_MULTICAST'] }] }),
      ).toThrow(expect.objectContaining({ syscall: 'fi_ep_bind' }));
    }

    const ep = domain.endpoint(info, { av, cq });
    const self = ep.av.insert(ep.address);
    const received = ep.recv(new Uint8Array(8));
    await settle(ep.send(new Uint8Array(5), self), ep.domain);
    expect(await settle(received, ep.domain)).toMatchObject({ length: 5 });
  },
);
