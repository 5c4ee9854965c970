// The checks of `libfabric doctor`: how the kernel handles the EFA, with and without findings.
import { kernel } from '../../../dist/cli/doctor/checks/kernel.js';
import { type FindingCase, type OkCase, testChecks } from '../../support/doctor-checks.js';

const RELEASE = '6.8.0-1021-aws';
const ALIAS = `lib/modules/${RELEASE}/modules.alias`;
const LISTED = 'etc/modules-load.d/efa.conf';
const GPU = 'sys/bus/pci/devices/0000:00:1e.0';
const gpu = { [`${GPU}/vendor`]: '0x10de', [`${GPU}/class`]: '0x030200' };
const trainium = { [`${GPU}/vendor`]: '0x1d0f', [`${GPU}/device`]: '0x7164' };
const P2P = 'sys/devices/pci0000:00/0000:00:06.0/p2p';

const findingCases: FindingCase[] = [
  [
    'kernel.boot',
    'nothing loads the driver',
    { files: { [LISTED]: '# efa\nefa_not', [ALIAS]: 'alias pci:v000015B3d* mlx5_core' } },
    'warning',
    /neither udev nor modules-load\.d loads it for Linux 6\.8\.0-1021-aws/,
    /tee \/etc\/modules-load\.d\/efa\.conf\nsudo depmod/,
  ],
  [
    'kernel.boot',
    'a configuration file prevents loading the driver',
    { files: { 'etc/modprobe.d/no-efa.conf': '# why\nblacklist efa' } },
    'warning',
    /\/etc\/modprobe\.d\/no-efa\.conf keeps it/,
    /no-efa\.conf/,
  ],
  [
    'kernel.peer-to-peer',
    'the driver offers none beside a GPU',
    { files: { ...gpu, [P2P]: null } },
    'note',
    /rdmap0s6 without, beside 0000:00:1e\.0/,
    /before efa[\s\S]*dma-buf/,
  ],
];

const okCases: OkCase[] = [
  ['kernel.boot', 'modules-load.d names it', {}, /named in \/etc\/modules-load\.d\/efa\.conf/],
  [
    'kernel.boot',
    '/etc/modules names it',
    { files: { [LISTED]: null, 'etc/modules': 'loop\nefa' } },
    /named in \/etc\/modules$/,
  ],
  [
    'kernel.boot',
    'udev finds it by its devices',
    {
      files: { [LISTED]: null, [ALIAS]: 'alias pci:v00001D0Fd0000EFA2sv*sd*bc*sc*i* efa' },
    },
    /by udev/,
  ],
  ['kernel.peer-to-peer', 'there is no accelerator', {}, /no accelerator; rdmap0s6 NVIDIA/],
  ['kernel.peer-to-peer', 'the driver offers it to a GPU', { files: gpu }, /rdmap0s6 NVIDIA/],
  [
    'kernel.peer-to-peer',
    'the driver offers it to Trainium',
    { files: trainium },
    /rdmap0s6 NVIDIA/,
  ],
];

testChecks([kernel], findingCases, okCases);
