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
const NEURON = 'sys/bus/pci/devices/0000:a0:1c.0';
const trainium = {
  [`${NEURON}/vendor`]: '0x1d0f',
  [`${NEURON}/device`]: '0x7264',
  [`${NEURON}/class`]: '0x088000',
};
const neuronModule = { ...trainium, 'sys/module/neuron/version': '2.22.2.0' };
const neuron = { ...neuronModule, 'dev/neuron0': '' };
const NRT = 'opt/aws/neuron/lib/libnrt.so.1';
const withNeuron = loadedLibrary({
  version: '2.6.0',
  params: [{ name: 'FI_HMEM_NEURON_USE_DMABUF' }],
});
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

const neuronCases: FindingCase[] = [
  [
    'accelerators.neuron-driver',
    'no kernel module',
    { files: trainium },
    'warning',
    /module neuron is not loaded/,
    /modprobe neuron\n.*aws-neuronx-dkms/,
  ],
  [
    'accelerators.neuron-driver',
    'a container without the devices',
    { files: neuronModule },
    'warning',
    /^2\.22\.2\.0, and \/dev\/neuron0 cannot be opened: ENOENT/,
    /--device \/dev\/neuron0/,
  ],
  [
    'accelerators.neuron-runtime',
    'it is not installed',
    { files: neuron },
    'warning',
    /^no libnrt\.so\.1$/,
    /aws-neuronx-runtime-lib/,
  ],
  [
    'accelerators.neuron-runtime',
    'the linker does not search its folder',
    { files: { ...neuron, [NRT]: '' } },
    'warning',
    /^\/opt\/aws\/neuron\/lib\/libnrt\.so\.1, which the linker does not search/,
    /LD_LIBRARY_PATH=\/opt\/aws\/neuron\/lib[\s\S]*ldconfig/,
  ],
  [
    'accelerators.neuron-libfabric',
    'a new one without Neuron',
    { files: neuron, library: loadedLibrary({ version: '2.6.0' }) },
    'note',
    /2\.6\.0 was built without Neuron: dmabufs only/,
    /opt\/amazon\/efa[\s\S]*--with-neuron/,
  ],
  [
    'accelerators.neuron-libfabric',
    'an old one',
    { files: neuron },
    'note',
    /1\.17\.0 does not report .*, and takes no dmabufs/,
    /--with-neuron/,
  ],
];

const okCases: OkCase[] = [
  ...['driver', 'runtime', 'libfabric'].map(
    (name): OkCase => [`accelerators.neuron-${name}`, 'no device', {}, /^no AWS Inferentia or Tr/],
  ),
  ['accelerators.neuron-driver', 'a healthy driver', { files: neuron }, /^2\.22\.2\.0$/],
  [
    'accelerators.neuron-runtime',
    'in the cache of the linker',
    { files: { ...neuron, [NRT]: '', 'etc/ld.so.cache': `\0/${NRT}\0` } },
    /^\/opt\/aws\/neuron\/lib\/libnrt\.so\.1$/,
  ],
  [
    'accelerators.neuron-runtime',
    'in LD_LIBRARY_PATH',
    { files: { ...neuron, [NRT]: '' }, env: { LD_LIBRARY_PATH: '/opt/aws/neuron/lib' } },
    /^\/opt\/aws\/neuron\/lib\/libnrt\.so\.1$/,
  ],
  [
    'accelerators.neuron-libfabric',
    'built with Neuron',
    { files: neuron, library: withNeuron },
    /2\.6\.0 was built with Neuron/,
  ],
  [
    'accelerators.neuron-libfabric',
    'one that takes dmabufs',
    { files: neuron, library: loadedLibrary({ version: '2.1.0' }) },
    /2\.1\.0 does not report whether/,
  ],
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

testChecks([accelerators], [...findingCases, ...neuronCases], okCases);
