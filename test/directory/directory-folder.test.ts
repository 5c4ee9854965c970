// The directory in a shared folder. Those with servers are in directory-servers.slow.test.ts.
import { folderService } from '../support/directories.js';
import { contract } from '../support/directory-contract.js';

contract('folder', 800, folderService);
