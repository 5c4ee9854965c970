// The checks of `libfabric doctor`: environment variables, with and without findings.
import { environment } from '../../../dist/cli/doctor/checks/environment.js';
import { type FindingCase, type OkCase, testChecks } from '../../support/doctor-checks.js';
import { efaDevice, loadedLibrary } from '../../support/fake-machine.js';

const findingCases: FindingCase[] = [
  [
    'environment.selection',
    'leave efa out',
    { env: { FI_PROVIDER: 'tcp,shm' } },
    'error',
    /FI_PROVIDER=tcp,shm/,
    /unset FI_PROVIDER/,
  ],
  [
    'environment.selection',
    'exclude efa',
    { env: { FI_PROVIDER: '^efa' } },
    'error',
    /FI_PROVIDER=\^efa/,
    /unset FI_PROVIDER/,
  ],
  [
    'environment.selection',
    'name other devices',
    { env: { FI_EFA_IFACE: 'rdmap9s9' } },
    'error',
    /the devices are rdmap0s6/,
    /unset FI_EFA_IFACE/,
  ],
  [
    'environment.speed',
    'are set',
    { env: { FI_LOG_LEVEL: 'debug', FI_EFA_USE_DEVICE_RDMA: 'off', FI_MR_CACHE_MAX_COUNT: '0' } },
    'warning',
    /FI_LOG_LEVEL=debug: [\s\S]*FI_EFA_USE_DEVICE_RDMA=off: [\s\S]*FI_MR_CACHE_MAX_COUNT=0: /,
    /unset FI_LOG_LEVEL FI_EFA_USE_DEVICE_RDMA FI_MR_CACHE_MAX_COUNT/,
  ],
  [
    'environment.speed',
    'require a capability that the device lacks',
    { env: { FI_EFA_USE_DEVICE_RDMA: '1' }, devices: [efaDevice({ efa: { capabilities: [] } })] },
    'error',
    /aborts/,
    /unset FI_EFA_USE_DEVICE_RDMA/,
  ],
  [
    'environment.unknown',
    'are misspelled',
    { env: { FI_EFA_TXSIZE: '1', FI_EAF_TX_SIZE: '1', RDMAV_FORKSAFE: '1', OTHER: '1' } },
    'warning',
    /^FI_EAF_TX_SIZE, FI_EFA_TXSIZE, RDMAV_FORKSAFE$/,
    /did you mean FI_EFA_TX_SIZE\?\n.*did you mean FI_EFA_TX_SIZE\?\n.*did you mean RDMAV_FORK_SAFE\?/,
  ],
  [
    'environment.unknown',
    'belong to other releases of libfabric',
    { env: { FI_EFA_USE_DATA_PATH_DIRECT: '1', FI_EFA_USE_HW_CNTR: '1', FI_SHM_USE_XPMEN: '1' } },
    'warning',
    /^FI_EFA_USE_DATA_PATH_DIRECT, FI_EFA_USE_HW_CNTR, FI_SHM_USE_XPMEN$/,
    /libfabric 2\.3 and newer read it, 1\.17\.0 does not\n.* 2\.6 and newer .*\n.*did you mean FI_SHM_USE_XPMEM\? libfabric 1\.20 and newer read it$/,
  ],
  [
    'environment.unknown',
    'belong to older releases',
    {
      env: { FI_EFA_ZCPY_RX_SEED: '1', FI_LNX_USE_SRQ: '1' },
      library: loadedLibrary({ version: '2.6.0' }),
    },
    'warning',
    /^FI_EFA_ZCPY_RX_SEED, FI_LNX_USE_SRQ$/,
    /libfabric 2\.5 and older read it, 2\.6\.0 does not\n.* 2\.0 to 2\.1 read it/,
  ],
  [
    'environment.values',
    'cannot be read',
    { env: { FI_EFA_TX_SIZE: '-1', FI_EFA_FORK_SAFE: 'maybe', FI_TCP_PORT_LOW_RANGE: '-1' } },
    'warning',
    /^FI_EFA_FORK_SAFE=maybe, FI_EFA_TX_SIZE=-1$/,
    /unset FI_EFA_FORK_SAFE FI_EFA_TX_SIZE$/,
  ],
  [
    'environment.values',
    'have an unknown log level',
    { env: { FI_LOG_LEVEL: 'error' } },
    'warning',
    /FI_LOG_LEVEL=error/,
    /warn, trace, info, debug/,
  ],
  [
    'environment.set',
    'are listed',
    { env: { FI_EFA_TX_SIZE: '64', RDMAV_DRIVERS: 'efa', FI_TYPO: '1' } },
    'note',
    /^FI_EFA_TX_SIZE=64\nRDMAV_DRIVERS=efa$/,
    /unset FI_EFA_TX_SIZE RDMAV_DRIVERS/,
  ],
];

const okCases: OkCase[] = [
  ['environment.selection', 'may name efa', { env: { FI_PROVIDER: 'efa,shm' } }, /nothing/],
  ['environment.selection', 'may exclude others', { env: { FI_PROVIDER: '^tcp' } }, /nothing/],
  ['environment.selection', 'may name devices', { env: { FI_EFA_IFACE: 'rdmap0s6' } }, /rdmap0s6/],
  [
    'environment.unknown',
    'may belong to a provider that is not built in',
    { env: { FI_OPX_TX_SIZE: '1' } },
    /none/,
  ],
  [
    'environment.unknown',
    'may be unlisted variables of this release',
    {
      env: { FI_EFA_USE_HW_CNTR: '1', FI_EFA_TRACK_MR: '1' },
      library: loadedLibrary({ version: '2.6.0', params: [] }),
    },
    /none/,
  ],
];

testChecks([environment], findingCases, okCases);
