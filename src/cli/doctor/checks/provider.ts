import { type Check, error, type Group, ok, skipped } from '../check.js';
import { hasEfaProvider } from './libfabric.js';

const offered: Check = {
  id: 'provider.offered',
  title: 'libfabric offers the device',
  expected: 'a domain of efa for each device',
  why: 'It is what a program finds, or does not: fi_getinfo ends with -61 (FI_ENODATA).',
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
    'Mend what is wrong above. If nothing is:\n' +
    'FI_LOG_LEVEL=info FI_LOG_PROV=efa npx libfabric info -p efa'
  );
}

const works: Check = {
  id: 'provider.endpoint',
  title: 'An endpoint carries a message',
  expected: 'on every domain, from an endpoint to itself, through the device',
  why: 'It takes everything above at once: permissions, memory that may be locked, the port.',
  matters: 'with-efa',
  look({ trials }) {
    if (trials.length === 0) return skipped('no domain to try');
    const failed = trials.filter(({ failure }) => failure !== null);
    if (failed.length === 0) return ok(trials.map(({ domain }) => domain).join(', '));
    return error(
      failed.map(({ domain, failure }) => `${domain}: ${failure}`).join('\n'),
      'Where locked memory is an error below, mend that first. Else:\n' +
        'FI_LOG_LEVEL=warn npx libfabric doctor',
    );
  },
};

export const provider: Group = { title: 'Provider', checks: [offered, works] };
