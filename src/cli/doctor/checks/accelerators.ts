import { acceleratorsOf } from '../accelerators.js';
import { type Check, type Group, note, ok, skipped, warning } from '../check.js';
import { installed } from '../libraries.js';
import { atLeast } from '../library.js';
import { isEfa, type Machine } from '../machine.js';
import { neuronChecks } from './neuron.js';

const NONE = 'no NVIDIA GPU';

/** The kernel module of the NVIDIA driver. Null if it is not loaded. */
function moduleOf({ files }: Machine): { version: string; open: boolean } | null {
  const text = files.text('/proc/driver/nvidia/version');
  if (text === null) return null;
  const [, version = 'of an unknown version'] = /Kernel Module.*?\s(\d+\.[\d.]+)/.exec(text) ?? [];
  return { version, open: /Open Kernel Module/.test(text) };
}

const GUIDE = 'https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html';

const driver: Check = {
  id: 'accelerators.driver',
  title: 'NVIDIA driver',
  expected: 'its kernel module and libcuda.so.1, if there is an NVIDIA GPU',
  why: 'Programs allocate memory of a GPU with it, and libfabric/cuda loads it.',
  matters: 'with-efa',
  look(machine) {
    if (acceleratorsOf(machine, 'NVIDIA').length === 0) return ok(NONE);
    const module = moduleOf(machine);
    if (module === null) {
      return warning(
        '/proc/driver/nvidia/version does not exist: the kernel module is not loaded',
        `sudo modprobe nvidia\nTo install the driver: ${GUIDE}`,
      );
    }
    if (installed(machine, 'libcuda').length === 0) {
      return warning(
        `${module.version}, and no libcuda.so.1`,
        `Install the libraries of the driver: ${GUIDE}\n` +
          'In a container, use the NVIDIA Container Toolkit: docker run --gpus all ...',
      );
    }
    const refusal = machine.files.whyNotOpened('/dev/nvidiactl');
    if (refusal === null) return ok(module.version);
    return warning(
      `${module.version}, and /dev/nvidiactl cannot be opened: ${refusal}`,
      'Docker: docker run --gpus all ...\nElsewhere: nvidia-modprobe, or nvidia-smi as root, creates the devices',
    );
  },
};

const dmabuf: Check = {
  id: 'accelerators.dmabuf',
  title: 'GPU memory as dmabuf',
  expected: 'the open kernel modules of the NVIDIA driver, and Linux 5.12 or later',
  why:
    'A NIC reaches the memory of a GPU as a dmabuf, with any libfabric from 2.1 on. Without dmabufs it needs the\n' +
    'peer-to-peer access of the efa driver, or nvidia-peermem with NICs of other vendors, and a libfabric with CUDA.',
  matters: 'with-hardware',
  look(machine) {
    const module = moduleOf(machine);
    if (acceleratorsOf(machine, 'NVIDIA').length === 0) return ok(NONE);
    if (module === null) return skipped('the NVIDIA driver is not loaded');
    const { files } = machine;
    const linux = files.text('/proc/sys/kernel/osrelease') ?? '0';
    const peermem = files.exists('/sys/module/nvidia_peermem') ? ', with nvidia-peermem' : '';
    if (module.open && atLeast(linux, '5.12')) return ok(`open kernel modules, Linux ${linux}`);
    if (!module.open) {
      return note(
        `the kernel modules of driver ${module.version} are not the open ones${peermem}`,
        `Install the open kernel modules (nvidia-open, or kmod-nvidia-open-dkms): ${GUIDE}`,
      );
    }
    return note(`Linux ${linux}${peermem}`, 'Use a distribution with Linux 5.12 or later');
  },
};

const gdrcopy: Check = {
  id: 'accelerators.gdrcopy',
  title: 'GDRCopy',
  expected: 'its kernel module gdrdrv and libgdrapi.so.2, if libfabric was built with CUDA',
  why:
    'libfabric copies small messages between the host and a GPU with it. Without it, the copies call CUDA and take\n' +
    'several microseconds. A dmabuf without FI_HMEM is never copied.',
  matters: 'with-hardware',
  look(machine) {
    if (acceleratorsOf(machine, 'NVIDIA').length === 0) return ok(NONE);
    if (hasCuda(machine) !== true) return skipped('this libfabric was built without CUDA');
    const loaded = machine.files.exists('/dev/gdrdrv');
    const [library] = installed(machine, 'libgdrapi');
    if (loaded && library !== undefined) return ok(library);
    const missing = [loaded ? '' : '/dev/gdrdrv', library === undefined ? 'libgdrapi.so.2' : ''];
    return note(
      `without ${missing.filter(Boolean).join(' and ')}`,
      'Install it from https://github.com/NVIDIA/gdrcopy (packages gdrcopy and gdrdrv-dkms), then: sudo modprobe gdrdrv',
    );
  },
};

/** Whether libfabric was built with CUDA. Such a build always defines this variable. */
function hasCuda({ library }: Machine): boolean | undefined {
  return library.loaded?.params.some(({ name }) => name === 'FI_HMEM_CUDA_USE_GDRCOPY');
}

const libfabric: Check = {
  id: 'accelerators.libfabric',
  title: 'libfabric and CUDA',
  expected: 'a libfabric that was built with CUDA, or 2.1 or later for dmabufs over efa-direct',
  why:
    'Pointers of a GPU (FI_HMEM) need a libfabric with CUDA. Dmabufs need none, but the provider cannot copy them:\n' +
    'efa-direct takes them for all operations except short messages and atomics.',
  matters: 'with-efa',
  look(machine) {
    const { loaded } = machine.library;
    if (acceleratorsOf(machine, 'NVIDIA').length === 0) return ok(NONE);
    if (loaded === null) return skipped('libfabric cannot be loaded');
    const found = `libfabric ${loaded.version} was built ${hasCuda(machine) ? 'with' : 'without'} CUDA`;
    if (hasCuda(machine)) return ok(found);
    const fix =
      "Use the EFA installer's libfabric, which is built with CUDA: it is in /opt/amazon/efa, where this package\n" +
      'looks first. Or build libfabric with ./configure --with-cuda=/usr/local/cuda --enable-cuda-dlopen.';
    if (atLeast(loaded.version, '2.1'))
      return note(`${found}: memory of GPUs as dmabufs only`, fix);
    return warning(`${found}: it cannot use memory of GPUs`, fix);
  },
};

const placement: Check = {
  id: 'accelerators.placement',
  title: 'GPUs and the nearest EFAs',
  expected: 'an EFA behind the PCIe switch or the host bridge of each GPU (PIX, PXB, PHB)',
  why: "Transfers between a GPU and an EFA of another NUMA node share the processors' interconnect.",
  matters: 'with-hardware',
  look(machine) {
    const efas = machine.devices.filter(isEfa);
    const gpus = acceleratorsOf(machine);
    if (gpus.length === 0) return ok('no accelerator');
    const near = gpus.map((gpu) => nearest(gpu, efas)).filter((each) => each !== undefined);
    if (near.length === 0) return skipped('no EFA reports its place');
    const found = near.map(
      ({ gpu, names, distance }) => `${gpu}: ${names.join(', ')} (${distance})`,
    );
    const far = near.filter(({ distance }) => distance === 'SYS');
    if (far.length === 0) return ok(found.join('; '));
    return note(
      found.join('; '),
      `No EFA is near ${far.map(({ gpu }) => gpu).join(', ')}. Attach one to each network card of the instance, and use\n` +
        'the GPUs that have one: npx libfabric devices lists them by distance.',
    );
  },
};

type Efa = Machine['devices'][number];

/** The EFAs that are nearest to an accelerator. */
function nearest(gpu: string, efas: readonly Efa[]) {
  const seen = efas.flatMap(({ name, accelerators }) =>
    accelerators
      .filter(({ pciAddress }) => pciAddress === gpu)
      .map(({ distance }) => ({ name, distance })),
  );
  const order = ['PIX', 'PXB', 'PHB', 'NODE', 'SYS'] as const;
  const distance = order.find((each) => seen.some((efa) => efa.distance === each));
  if (distance === undefined) return undefined;
  const names = seen.filter((efa) => efa.distance === distance).map(({ name }) => name);
  return { gpu, names, distance };
}

export const accelerators: Group = {
  title: 'Accelerators',
  checks: [driver, dmabuf, gdrcopy, libfabric, ...neuronChecks, placement],
};
