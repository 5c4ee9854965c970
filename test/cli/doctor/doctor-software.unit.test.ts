// The checks of `libfabric doctor`: libfabric, rdma-core and the efa provider, with and without findings.
import { libfabric } from '../../../dist/cli/doctor/checks/libfabric.js';
import { provider } from '../../../dist/cli/doctor/checks/provider.js';
import { rdmaCore } from '../../../dist/cli/doctor/checks/rdma-core.js';
import type { Rdma } from '../../../dist/cli/shared/rdma.js';
import { type FindingCase, type OkCase, testChecks } from '../../support/doctor-checks.js';
import { efaDevice, limits, loadedLibrary } from '../../support/fake-machine.js';

const LIB = 'usr/lib/x86_64-linux-gnu';
const INSTALLERS = 'opt/amazon/efa/lib/libfabric.so.1.30.0';
const NOT_FOUND = Object.assign(new Error('libfabric.so.1 was not found'), {
  code: 'ERR_LIBFABRIC_NOT_FOUND',
});

const trialWith = (rdma: Rdma | null) => ({ domain: 'rdmap0s6-rdm', failure: null, rdma });

const failed = {
  domain: 'rdmap0s6-rdm',
  failure: 'FI_ENOMEM: Cannot allocate memory',
  hint: 'raise the limit',
  rdma: null,
};

const findingCases: FindingCase[] = [
  [
    'libfabric.library',
    'is missing',
    { library: { loaded: null, error: NOT_FOUND } },
    'error',
    /was not found/,
    /apt-get install libfabric1/,
  ],
  [
    'libfabric.library',
    'ends the process',
    { library: { loaded: null, error: new Error('a process that does so dies by SIGABRT') } },
    'error',
    /SIGABRT/,
    /Environment/,
  ],
  [
    'libfabric.library',
    'is too old',
    { library: loadedLibrary({ version: '1.9.1' }) },
    'error',
    /1\.9\.1/,
    /EFA installer/,
  ],
  [
    'libfabric.process',
    'is loaded twice',
    {
      files: {
        'proc/self/maps':
          `1-2 r-xp 0 08:01 1 /${LIB}/libfabric.so.1.20.0\n` +
          '3-4 r-xp 0 08:01 2 /site-packages/nixl.libs/libfabric-1a2b3c4d.so.1.30.0',
      },
    },
    'error',
    /libfabric\.so\.1\.20\.0, .*libfabric-1a2b3c4d/,
    /LD_LIBRARY_PATH=/,
  ],
  [
    'libfabric.process',
    'is loaded twice, once by LD_PRELOAD',
    {
      env: { LD_PRELOAD: '/x/libfabric.so.1' },
      files: {
        'proc/self/maps': `1-2 r 0 08:01 1 /x/libfabric.so.1\n3-4 r 0 08:01 2 /y/libfabric.so.1`,
      },
    },
    'error',
    /\/x\/.*\/y\//,
    /LD_PRELOAD/,
  ],
  [
    'libfabric.process',
    'is loaded twice, and LD_PRELOAD has another library in a folder of that name',
    {
      env: { LD_PRELOAD: '/libfabric/build/libsoftefa.so' },
      files: {
        'proc/self/maps': `1-2 r 0 08:01 1 /x/libfabric.so.1\n3-4 r 0 08:01 2 /y/libfabric.so.1`,
      },
    },
    'error',
    /\/x\/.*\/y\//,
    /LD_LIBRARY_PATH=/,
  ],
  [
    'libfabric.machine',
    "is not the EFA installer's",
    { files: { [INSTALLERS]: '' } },
    'warning',
    /\/opt\/amazon\/efa\/.*, .*1\.20\.0 \(in use\)/,
    /LD_LIBRARY_PATH=\/opt\/amazon\/efa\/lib$/,
  ],
  [
    'libfabric.machine',
    "is the EFA installer's, and there is another",
    { files: { [INSTALLERS]: '' }, library: loadedLibrary({ path: `/${INSTALLERS}` }) },
    'note',
    /efa\/.*\(in use\), /,
    /LD_LIBRARY_PATH/,
  ],
  [
    'libfabric.efa',
    'is not built in',
    {
      library: loadedLibrary({ params: [] }),
      files: { 'proc/self/maps': `1-2 r-xp 0 08:01 1 /${LIB}/libfabric.so.1.20.0` },
    },
    'error',
    /has none/,
    /EFA installer/,
  ],
  [
    'rdma-core.libibverbs',
    'is missing',
    { files: { 'proc/self/maps': '' } },
    'error',
    /no libibverbs/,
    /apt-get install rdma-core/,
  ],
  [
    'rdma-core.libefa',
    'is too old',
    { files: { 'proc/self/maps': `1-2 r 0 08:01 1 /${LIB}/libefa.so.1.0.23.1` } },
    'error',
    /23\.1/,
    /Update rdma-core/,
  ],
  [
    'rdma-core.driver',
    'is missing',
    { files: { [`${LIB}/libibverbs/libefa-rdmav34.so`]: null } },
    'error',
    /no libefa-rdmav/,
    /ibverbs-providers/,
  ],
  [
    'rdma-core.driver',
    'is not named in the configuration',
    { files: { 'etc/libibverbs.d/efa.driver': null } },
    'warning',
    /no \/etc\/libibverbs\.d/,
    /driver efa/,
  ],
  [
    'provider.offered',
    'offers nothing',
    { library: loadedLibrary({ efaDomains: [] }) },
    'error',
    /no domain/,
    /FI_LOG_LEVEL=info/,
  ],
  [
    'provider.offered',
    'offers nothing because of FI_PROVIDER',
    { library: loadedLibrary({ efaDomains: [] }), env: { FI_PROVIDER: 'tcp' } },
    'error',
    /no domain/,
    /FI_PROVIDER=tcp/,
  ],
  [
    'provider.endpoint',
    'fails',
    { trials: [failed] },
    'error',
    /^rdmap0s6-rdm: FI_ENOMEM: Cannot allocate memory$/,
    /^raise the limit\n.*FI_LOG_LEVEL=warn npx libfabric doctor$/,
  ],
  [
    'provider.endpoint',
    'fails with little locked memory',
    { trials: [failed], files: { 'proc/self/limits': limits(65_536) } },
    'error',
    /FI_ENOMEM/,
    /^First fix, below: Locked memory\.$/,
  ],
  [
    'provider.endpoint',
    'fails in software with little shared memory',
    {
      efa: 'software',
      devices: [efaDevice({ emulated: true })],
      trials: [failed],
      sharedMemory: { size: 2 ** 20, free: 2 ** 19 },
    },
    'error',
    /FI_ENOMEM/,
    /^First fix, below: \/dev\/shm\.$/,
  ],
  [
    'provider.rdma',
    'is emulated although the device has it',
    { trials: [trialWith({ reads: 'emulated', writes: 'device' })] },
    'warning',
    /reads emulated, writes by the device/,
    /FI_EFA_USE_DEVICE_RDMA/,
  ],
  [
    'provider.rdma',
    'is emulated by libfabric 1.17 on a 0xefa1',
    { trials: [trialWith(null)], devices: [efaDevice({ vendorPartId: 0xefa1 })] },
    'warning',
    /0xefa1/,
    /1\.18/,
  ],
];

const okCases: OkCase[] = [
  [
    'provider.rdma',
    'is emulated because the device lacks it',
    {
      trials: [trialWith({ reads: 'device', writes: 'emulated' })],
      devices: [efaDevice({ efa: { capabilities: ['RDMA_READ'] } })],
    },
    /rdmap0s6-rdm: reads by the device, writes emulated/,
  ],
  [
    'rdma-core.driver',
    'may be named in the environment',
    { files: { 'etc/libibverbs.d/efa.driver': null }, env: { RDMAV_DRIVERS: 'efa:mlx5' } },
    /libefa-rdmav34/,
  ],
];

testChecks([libfabric, rdmaCore, provider], findingCases, okCases);
