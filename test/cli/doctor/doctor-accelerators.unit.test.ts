// The checks of `libfabric doctor`: GPUs and how an EFA reaches their memory, with and without findings.
import { accelerators } from '../../../dist/cli/doctor/checks/accelerators.js';
import { type FindingCase, type OkCase, testChecks } from '../../support/doctor-checks.js';
import { efaDevice, loadedLibrary } from '../../support/fake-machine.js';

const GPU = 'sys/bus/pci/devices/0000:53:00.0';
const LIB = 'usr/lib/x86_64-linux-gnu';
const OPEN =
  'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build\nGCC version: 12';
const CLOSED =
  'NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021';

const gpu = { [`${GPU}/vendor`]: '0x10de', [`${GPU}/class`]: '0x030200' };
const module = { ...gpu, 'proc/driver/nvidia/version': OPEN };
const libcuda = {
  [`${LIB}/libcuda.so.550.54.15`]: '',
  [`${LIB}/libcuda.so.1`]: `-> ${LIB}/libcuda.so.550.54.15`,
};
const open = { ...module, ...libcuda, 'dev/nvidiactl': '' };
const closed = { ...open, 'proc/driver/nvidia/version': CLOSED };
const gdrcopy = { 'dev/gdrdrv': '', [`${LIB}/libgdrapi.so.2.4`]: '' };
const withCuda = (version = '2.4.0amzn1.0') =>
  loadedLibrary({ version, params: [{ name: 'FI_HMEM_CUDA_USE_GDRCOPY' }] });
const near = (distance: string, name = 'rdmap0s6') =>
  efaDevice({ name, accelerators: [{ pciAddress: '0000:53:00.0', vendor: 'NVIDIA', distance }] });

const findingCases: FindingCase[] = [
  [
    'accelerators.driver',
    'no kernel module',
    { files: gpu },
    'warning',
    /nvidia\/version does not exist/,
    /modprobe nvidia\n.*install-nvidia-driver/,
  ],
  [
    'accelerators.driver',
    'a container without the libraries',
    { files: { ...module, 'dev/nvidiactl': '' } },
    'warning',
    /^550\.54\.15, and no libcuda/,
    /--gpus all/,
  ],
  [
    'accelerators.driver',
    'a container without the devices',
    { files: { ...module, ...libcuda } },
    'warning',
    /^550\.54\.15, .*nvidiactl.*ENOENT/,
    /--gpus all[\s\S]*nvidia-modprobe/,
  ],
  [
    'accelerators.dmabuf',
    'the closed kernel modules',
    { files: { ...closed, 'sys/module/nvidia_peermem/refcnt': 0 } },
    'note',
    /driver 470\.82\.01 are not the open ones, with nvidia-peermem/,
    /nvidia-open/,
  ],
  [
    'accelerators.dmabuf',
    'an old kernel',
    { files: { ...open, 'proc/sys/kernel/osrelease': '5.10.0-amzn' } },
    'note',
    /^Linux 5\.10\.0-amzn$/,
    /Linux 5\.12/,
  ],
  [
    'accelerators.gdrcopy',
    'it is not installed',
    { files: open, library: withCuda() },
    'note',
    /^without \/dev\/gdrdrv and libgdrapi/,
    /NVIDIA\/gdrcopy/,
  ],
  [
    'accelerators.gdrcopy',
    'its module is not loaded',
    { files: { ...open, [`${LIB}/libgdrapi.so.2.4`]: '' }, library: withCuda() },
    'note',
    /^without \/dev\/gdrdrv$/,
    /modprobe gdrdrv/,
  ],
  [
    'accelerators.libfabric',
    'an old one without CUDA',
    { files: open },
    'warning',
    /1\.17\.0 was built without CUDA: it cannot use/,
    /opt\/amazon\/efa[\s\S]*--with-cuda/,
  ],
  [
    'accelerators.libfabric',
    'a new one without CUDA',
    { files: open, library: loadedLibrary({ version: '2.1.0' }) },
    'note',
    /2\.1\.0 was built without CUDA: .* dmabufs only/,
    /--with-cuda/,
  ],
  [
    'accelerators.placement',
    'the only EFA is on another NUMA node',
    { files: open, devices: [near('SYS')] },
    'note',
    /0000:53:00\.0: rdmap0s6 \(SYS\)/,
    /No EFA is near 0000:53:00\.0/,
  ],
];

const okCases: OkCase[] = [
  ...['driver', 'dmabuf', 'gdrcopy', 'libfabric'].map(
    (name): OkCase => [`accelerators.${name}`, 'no GPU', {}, /no NVIDIA GPU/],
  ),
  ['accelerators.placement', 'no accelerator', {}, /no accelerator/],
  ['accelerators.driver', 'a healthy driver', { files: open }, /^550\.54\.15$/],
  ['accelerators.dmabuf', 'the open kernel modules', { files: open }, /open.*Linux 6\.8/],
  [
    'accelerators.gdrcopy',
    'it is installed',
    { files: { ...open, ...gdrcopy }, library: withCuda() },
    /libgdrapi\.so\.2\.4/,
  ],
  [
    'accelerators.libfabric',
    'built with CUDA',
    { files: open, library: withCuda() },
    /2\.4\.0amzn1\.0 was built with CUDA/,
  ],
  [
    'accelerators.placement',
    'the nearest EFAs are named',
    { files: open, devices: [near('SYS'), near('PIX', 'rdmap79s0'), near('PIX', 'rdmap80s0')] },
    /^0000:53:00\.0: rdmap79s0, rdmap80s0 \(PIX\)$/,
  ],
];

testChecks([accelerators], findingCases, okCases);
