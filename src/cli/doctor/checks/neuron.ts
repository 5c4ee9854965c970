import { acceleratorsOf } from '../accelerators.js';
import { type Check, note, ok, skipped, warning } from '../check.js';
import { installed } from '../libraries.js';
import { atLeast } from '../library.js';
import type { Machine } from '../machine.js';

const NONE = 'no AWS Inferentia or Trainium';
const GUIDE = 'https://awsdocs-neuron.readthedocs-hosted.com';
const FOLDER = '/opt/aws/neuron/lib'; // of the package aws-neuronx-runtime-lib

const driver: Check = {
  id: 'accelerators.neuron-driver',
  title: 'Neuron driver',
  expected: 'its kernel module and its devices, if there is an AWS Inferentia or Trainium',
  why: 'The Neuron runtime allocates memory of the devices with it, and exports dmabufs.',
  matters: 'with-efa',
  look(machine) {
    if (acceleratorsOf(machine, 'Neuron').length === 0) return ok(NONE);
    const { files } = machine;
    if (!files.exists('/sys/module/neuron')) {
      return warning(
        'the kernel module neuron is not loaded',
        `sudo modprobe neuron\nTo install it, the package aws-neuronx-dkms: ${GUIDE}`,
      );
    }
    const version = files.text('/sys/module/neuron/version') ?? 'of an unknown version';
    const [device] = files.names('/dev').filter((name) => /^neuron\d+$/.test(name));
    const refusal = device === undefined ? 'ENOENT' : files.whyNotOpened(`/dev/${device}`);
    if (refusal === null) return ok(version);
    return warning(
      `${version}, and /dev/${device ?? 'neuron0'} cannot be opened: ${refusal}`,
      'Docker: docker run --device /dev/neuron0 ..., for each device\nElsewhere: permit this user to open it (ls -l /dev/neuron*)',
    );
  },
};

const runtime: Check = {
  id: 'accelerators.neuron-runtime',
  title: 'Neuron runtime',
  expected: 'libnrt.so.1 where the linker finds it, if there is an AWS Inferentia or Trainium',
  why: 'libfabric and libfabric/neuron load it when they are first used with memory of Neuron.',
  matters: 'with-efa',
  look(machine) {
    if (acceleratorsOf(machine, 'Neuron').length === 0) return ok(NONE);
    const { files } = machine;
    const [found] = installed(machine, 'libnrt');
    if (found !== undefined) return ok(found);
    const path = `${FOLDER}/libnrt.so.1`;
    if (files.text('/etc/ld.so.cache')?.includes(path)) return ok(files.real(path) ?? path);
    if (files.exists(path)) {
      return warning(
        `${path}, which the linker does not search`,
        `export LD_LIBRARY_PATH=${FOLDER}\nOr for all users: echo ${FOLDER} | sudo tee /etc/ld.so.conf.d/neuron.conf && sudo ldconfig`,
      );
    }
    return warning('no libnrt.so.1', `Install the package aws-neuronx-runtime-lib: ${GUIDE}`);
  },
};

const libfabric: Check = {
  id: 'accelerators.neuron-libfabric',
  title: 'libfabric and Neuron',
  expected: 'a libfabric that was built with Neuron, or 2.1 or later for dmabufs over efa-direct',
  why: 'Pointers of Neuron (FI_HMEM) need a libfabric with Neuron. Dmabufs need none.',
  matters: 'with-efa',
  look(machine) {
    const { loaded } = machine.library;
    if (acceleratorsOf(machine, 'Neuron').length === 0) return ok(NONE);
    if (loaded === null) return skipped('libfabric cannot be loaded');
    const { version } = loaded;
    if (reportsNeuron(machine)) return ok(`libfabric ${version} was built with Neuron`);
    const fix =
      "Use the EFA installer's libfabric, which is in /opt/amazon/efa, where this package looks first. Or build libfabric\n" +
      'with ./configure --with-neuron=/opt/aws/neuron.';
    if (atLeast(version, '2.5')) {
      return note(`libfabric ${version} was built without Neuron: dmabufs only`, fix);
    }
    const unknown = `libfabric ${version} does not report whether it was built with Neuron`;
    return atLeast(version, '2.1') ? ok(unknown) : note(`${unknown}, and takes no dmabufs`, fix);
  },
};

/** Whether libfabric reports that it was built with Neuron. Since 2.5, such a build defines this variable. */
function reportsNeuron({ library }: Machine): boolean {
  return library.loaded?.params.some(({ name }) => name === 'FI_HMEM_NEURON_USE_DMABUF') ?? false;
}

/** The checks of AWS Inferentia and Trainium. */
export const neuronChecks: readonly Check[] = [driver, runtime, libfabric];
