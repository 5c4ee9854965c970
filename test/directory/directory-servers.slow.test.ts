// The directories in etcd and Redis, with the servers of this machine: `npm run suite -- servers` installs them.
import { etcdService, redisService } from '../support/directories.js';
import { contract } from '../support/directory-contract.js';

contract('etcd', 2000, () => etcdService());
contract('an etcd that loses its data', 2000, () => etcdService(true));
contract('redis', 1000, redisService);
