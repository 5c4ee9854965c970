// `npm run suite -- servers [vitest's arguments]`: libraries over libfabric/net, and the directories of libfabric/directory,
// with the real servers of the distribution, and libfabric/objects with curl.
import { existsSync } from 'node:fs';
import { onPath, systemPackages } from '../setup/system.mjs';
import { setup } from '../setup.mjs';
import { vitest } from '../vitest.mjs';

const SERVERS = [
  {
    name: 'redis-server',
    present: () => onPath('redis-server'),
    apt: ['redis-server'],
    dnf: ['redis'],
  },
  { name: 'etcd', present: () => onPath('etcd'), apt: ['etcd-server'], dnf: ['etcd'] },
  {
    name: 'mosquitto',
    present: () => onPath('mosquitto') || existsSync('/usr/sbin/mosquitto'),
    apt: ['mosquitto'],
    dnf: ['mosquitto'],
  },
  {
    name: 'PostgreSQL',
    present: () => onPath('initdb') || existsSync('/usr/lib/postgresql'),
    apt: ['postgresql'],
    dnf: ['postgresql-server'],
  },
  { name: 'curl', present: () => onPath('curl'), apt: ['curl'], dnf: ['curl'] },
];

// The test of an outage of 30 seconds runs at night: directory-outage.slow.
const SLOW = ['servers', 'etcd'].map((name) => `test/directory/directory-${name}.slow`);

export default async function servers(args) {
  await setup();
  await systemPackages(SERVERS);
  const quick = ['test/net/net-databases', 'test/net/net-messaging', 'test/objects/objects-s3'];
  return vitest([...quick, ...SLOW, ...args], { LIBFABRIC_TESTS: 'all' });
}
