// The checks of `libfabric doctor`: the device, its driver and its nodes, with and without findings.
import { device } from '../../../dist/cli/doctor/checks/device.js';
import { type FindingCase, type OkCase, testChecks } from '../../support/doctor-checks.js';
import { efaDevice, foreignDevice, loadedLibrary } from '../../support/fake-machine.js';

// A link to a file outside the fake machine that no user may write, not even root.
const FORBIDDEN = `-> ${'../'.repeat(20)}proc/sys/kernel/osrelease`;

const findingCases: FindingCase[] = [
  [
    'device.driver',
    'is not loaded',
    { files: { 'sys/module/efa': null } },
    'error',
    /not loaded \(Linux 6\.8/,
    /modprobe efa/,
  ],
  [
    'device.driver',
    'is not bound to the device',
    { files: { 'sys/devices/pci0000:00/0000:00:06.0/driver': null } },
    'error',
    /3\.3\.1, not bound to 0000:00:06\.0/,
    /drivers\/efa\/bind/,
  ],
  [
    'device.nodes',
    'are not in the container',
    { files: { 'dev/infiniband/uverbs0': null } },
    'error',
    /uverbs0: ENOENT/,
    /--device=\/dev\/infiniband\/uverbs0[\s\S]*vpc\.amazonaws\.com\/efa/,
  ],
  [
    'device.nodes',
    'are not permitted',
    { files: { 'dev/infiniband/uverbs0': FORBIDDEN } },
    'error',
    /uverbs0: EACCES/,
    /chmod 666/,
  ],
  [
    'device.nodes',
    'are not known to the kernel',
    { files: { 'sys/class/infiniband_verbs': null } },
    'error',
    /no EFA in/,
    /modprobe ib_uverbs/,
  ],
  [
    'device.opened',
    'is refused',
    { devices: [efaDevice({ error: new Error('EACCES: Permission denied, ibv_open_device') })] },
    'error',
    /rdmap0s6: EACCES/,
    /device nodes/,
  ],
  [
    'device.opened',
    'finds nothing',
    { devices: [], absence: { code: 'ERR_NO_RDMA_DEVICE', message: 'there is none' } },
    'error',
    /there is none/,
    /above/,
  ],
  [
    'device.port',
    'is down',
    { devices: [efaDevice({ ports: [{ number: 1, state: 'DOWN', speed: null }] })] },
    'error',
    /rdmap0s6\/1 DOWN/,
    /modprobe efa/,
  ],
  [
    'device.rdma',
    'is missing',
    { devices: [efaDevice({ efa: { capabilities: ['RDMA_READ'] } })] },
    'note',
    /no RDMA_WRITE/,
    /46 or newer/,
  ],
  [
    'device.foreign',
    'hide the EFA from libfabric 1.17',
    { devices: [efaDevice(), foreignDevice()] },
    'error',
    /mlx5_0 \(mlx5_core\)/,
    /modprobe -r mlx5_core/,
  ],
  [
    'device.refusals',
    'were counted',
    { counters: { rdmap0s6: { create_qp_err: 2n, reg_mr_err: 0n } } },
    'note',
    /create_qp_err 2$/,
    /Close what/,
  ],
];

const okCases: OkCase[] = [
  [
    'device.foreign',
    'are passed over by libfabric 2.2',
    { devices: [efaDevice(), foreignDevice()], library: loadedLibrary({ version: '2.2.0' }) },
    /mlx5_0/,
  ],
];

// The cases of device.present are in doctor-report.unit.test.ts.
testChecks([device], findingCases, okCases, ['device.present']);
