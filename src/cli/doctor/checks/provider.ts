import type { Device } from '../../../verbs/device-types.js';
import { rdmaText } from '../../shared/rdma-support.js';
import { type Check, error, type Group, ok, skipped, warning } from '../check.js';
import type { Machine, Trial } from '../machine.js';
import { hasEfaProvider } from './libfabric.js';
import { locked } from './memory.js';
import { sharedMemory } from './same-host.js';

const offered: Check = {
  id: 'provider.offered',
  title: 'libfabric offers the device',
  expected: 'a domain of efa for each device',
  why: 'Programs find the device this way. Without it fi_getinfo returns -61 (FI_ENODATA).',
  matters: 'with-efa',
  look(machine) {
    const { loaded } = machine.library;
    if (loaded === null) return skipped('no libfabric');
    if (loaded.efaDomains.length > 0) return ok(loaded.efaDomains.join(', '));
    return error('no domain of efa', whyNothing(machine.env, hasEfaProvider(machine)));
  },
};

function whyNothing(env: Readonly<Record<string, string | undefined>>, builtIn: boolean): string {
  if (!builtIn) return 'This libfabric has no efa: see libfabric, above.';
  if (env.FI_PROVIDER) return `FI_PROVIDER=${env.FI_PROVIDER} is set: see Environment.`;
  if (env.FI_EFA_IFACE) return `FI_EFA_IFACE=${env.FI_EFA_IFACE} is set: see Environment.`;
  return (
    'Fix the errors above. If there are none:\n' +
    'FI_LOG_LEVEL=info FI_LOG_PROV=efa npx libfabric info -p efa'
  );
}

const works: Check = {
  id: 'provider.endpoint',
  title: 'An endpoint carries a message',
  expected: 'on every domain, from an endpoint to itself, through the device',
  why: 'It needs everything above: permissions, locked memory, the port.',
  matters: 'with-efa',
  look(machine) {
    const { trials } = machine;
    if (trials.length === 0) return skipped('no domain to try');
    const failed = trials.filter(({ failure }) => failure !== null);
    if (failed.length === 0) return ok(trials.map(({ domain }) => domain).join(', '));
    return error(
      failed.map(({ domain, failure }) => `${domain}: ${failure}`).join('\n'),
      trialFix(machine, failed),
    );
  },
};

function trialFix(machine: Machine, failed: readonly Trial[]): string {
  const causes = [
    ...(locked.look(machine).status === 'error' ? [locked.title] : []),
    // A device in software keeps its queues in /dev/shm.
    ...(machine.efa === 'software' && sharedMemory.look(machine).status === 'warning'
      ? [sharedMemory.title]
      : []),
  ];
  if (causes.length > 0) return `First fix, below: ${causes.join(', ')}.`;
  const hints = new Set(failed.flatMap(({ hint = [] }) => hint));
  return [...hints, 'To see what libfabric reports: FI_LOG_LEVEL=warn npx libfabric doctor'].join(
    '\n',
  );
}

const rdma: Check = {
  id: 'provider.rdma',
  title: 'RDMA by the device',
  expected: 'the endpoint emulates nothing that the device can do',
  why: "An emulated read or write is a message that the target's CPU answers.",
  matters: 'with-efa',
  look({ trials, devices, library: { loaded } }) {
    const tried = trials.filter(({ failure }) => failure === null);
    if (tried.length === 0) return skipped('no endpoint to ask');
    const silent = tried.every((trial) => trial.rdma === null);
    if (silent && !devices.some(emulatedBy117)) {
      return skipped(`libfabric ${loaded?.version ?? ''} does not report it`);
    }
    if (silent) {
      const found = 'emulated: libfabric 1.17 does not use the RDMA of parts 0xefa0 and 0xefa1';
      return warning(found, 'Update libfabric to 1.18 or newer.');
    }
    const found = tried.map((trial) => `${trial.domain}: ${rdmaText(trial.rdma ?? undefined)}`);
    const wasted = tried.some((trial) =>
      devices.some((device) => trial.domain.startsWith(device.name) && wastes(trial, device)),
    );
    if (!wasted) return ok(found.join('\n'));
    const fix =
      'Unset FI_EFA_USE_DEVICE_RDMA. If it is not set, update libfabric, which was built without RDMA.';
    return warning(found.join('\n'), fix);
  },
};

const emulatedBy117 = ({ vendorPartId, efa }: Device) =>
  (vendorPartId === 0xefa0 || vendorPartId === 0xefa1) && !!efa?.capabilities.includes('RDMA_READ');

/** Whether the provider emulates operations that the device can carry out. */
function wastes({ rdma: doers }: Trial, { efa }: Device): boolean {
  const can = (cap: string) => efa?.capabilities.some((name) => name === cap) ?? false;
  return (
    (doers?.reads === 'emulated' && can('RDMA_READ')) ||
    (doers?.writes === 'emulated' && can('RDMA_WRITE'))
  );
}

export const provider: Group = { title: 'Provider', checks: [offered, works, rdma] };
