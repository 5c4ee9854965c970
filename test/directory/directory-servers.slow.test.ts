// The directories in etcd and Redis, with the servers of this machine: `npm run suite -- servers` installs them.
import { expect, onTestFinished, test } from 'vitest';
import { etcdService, open, redisService } from '../support/directories.js';
import { contract, untilHas } from '../support/directory-contract.js';

contract('etcd', 2000, () => etcdService());
contract('an etcd that loses its data', 2000, () => etcdService(true));
contract('redis', 1000, redisService);

test('an entry of Redis whose lease ends too late, after a step of the clock, ends one lease after it was seen', async ({
  skip,
}) => {
  const service = await redisService();
  if (service === undefined) return skip('needs redis');
  onTestFinished(() => service.stop());
  await service.write('group', { dead: '{"address":"x","ttl":700}' });
  const directory = open(service.making(1));
  expect(await directory.lookup('group')).toEqual([{ id: 'dead', address: 'x' }]);
  await untilHas(directory.watch('group'), []);
});
