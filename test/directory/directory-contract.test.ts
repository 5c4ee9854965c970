// The directories that need no server. Those with servers are in directory-servers.slow.test.ts.
import { folderService, kubernetesService } from '../support/directories.js';
import { contract } from '../support/directory-contract.js';

contract('folder', 400, folderService);
contract('kubernetes', 400, kubernetesService);
