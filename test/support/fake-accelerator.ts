// The fakes of the libraries of accelerators that share their tests, in test/programs/fake-NAME.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { HmemMemory } from 'libfabric';
import * as rocr from 'libfabric/rocr';
import * as synapseai from 'libfabric/synapseai';
import * as ze from 'libfabric/ze';
import { loadRocr, loadSynapseai, loadZe } from '../../dist/contract/load.js';
import { FakeLibrary, withLibrariesOf } from './fake-library.js';

/** What the modules of these accelerators have in common. */
export interface AcceleratorModule {
  devices(): rocr.AcceleratorDevice[];
  isAvailable(): boolean;
  whyNoDevices(): { readonly code: string; readonly message: string } | null;
  allocate(byteLength: number, options?: rocr.AllocateOptions): rocr.AcceleratorMemory;
  exportDmabuf(memory: HmemMemory): rocr.Dmabuf;
}

/** An accelerator, and what its fake does. */
export interface FakeAccelerator {
  readonly type: 'rocr' | 'synapseai' | 'ze';
  readonly module: AcceleratorModule;
  readonly load: () => unknown;
  /** What the command line calls the devices. */
  readonly vendor: string;
  /** RocrError, RocrMemory */
  readonly prefix: string;
  /** The library's file. */
  readonly library: string;
  /** Another library that it needs, and its source. */
  readonly second?: { readonly library: string; readonly source: string };
  /** The source of the fake, and the variables that tests set. */
  readonly source: string;
  readonly variables: readonly string[];
  /** The first call, which is tried again after a failure. */
  readonly init: string;
  /** The other calls that programs make. */
  readonly calls: readonly string[];
  /** The call that exports. */
  readonly exporting: string;
  /** A failure of any call, which the library knows. */
  readonly failure: readonly [result: number, code: string];
  /** A failure that it does not know. */
  readonly unknown: readonly [result: number, code: string];
  readonly devices: readonly Omit<rocr.AcceleratorDevice, 'numaNode' | 'memory'>[];
  /** The errors of too much memory, of a device that is not there, and of a foreign address. */
  readonly tooMuch: RegExp;
  readonly noDevice: RegExp;
  readonly foreign: RegExp;
}

export const ACCELERATORS: readonly FakeAccelerator[] = [
  {
    type: 'rocr',
    module: rocr,
    load: loadRocr,
    vendor: 'ROCm',
    prefix: 'Rocr',
    library: 'libhsa-runtime64.so.1',
    source: 'hsa.cc',
    variables: ['DEVICES', 'POOLS'],
    init: 'hsa_init',
    calls: [
      'hsa_iterate_agents',
      'hsa_agent_get_info',
      'hsa_amd_agent_iterate_memory_pools',
      'hsa_amd_memory_pool_get_info',
      'hsa_amd_memory_pool_allocate',
      'hsa_memory_copy',
      'hsa_amd_memory_pool_free',
    ],
    exporting: 'hsa_amd_portable_export_dmabuf',
    failure: [0x1008, 'HSA_STATUS_ERROR_OUT_OF_RESOURCES'],
    unknown: [0x4711, 'HSA_STATUS_0x4711'],
    devices: [
      { index: 0, name: 'gfx-fake', pciAddress: '0000:f0:1f.1' },
      { index: 1, name: "fake GPU (a test's libhsa-runtime64)", pciAddress: '0000:f1:1f.1' },
    ],
    tooMuch:
      /^HSA_STATUS_ERROR_OUT_OF_RESOURCES: The fake has no more\., hsa_amd_memory_pool_allocate; rocm-smi/,
    noDevice: /^HSA_STATUS_ERROR_INVALID_AGENT: .*, hsa_iterate_agents; .*index of devices\(\)$/,
    foreign: /^HSA_STATUS_ERROR_INVALID_ALLOCATION: .*, hsa_amd_portable_export_dmabuf; a dmabuf/,
  },
  {
    type: 'ze',
    module: ze,
    load: loadZe,
    vendor: 'Level Zero',
    prefix: 'Ze',
    library: 'libze_loader.so.1',
    source: 'ze.cc',
    variables: ['DEVICES', 'EXPORT'],
    init: 'zeInit',
    calls: [
      'zeDriverGet',
      'zeDeviceGet',
      'zeDeviceGetProperties',
      'zeDeviceGetMemoryProperties',
      'zeCommandListCreateImmediate',
      'zeMemAllocDevice',
      'zeCommandListAppendMemoryCopy',
      'zeMemFree',
    ],
    exporting: 'zeMemGetAllocProperties',
    failure: [0x70000001, 'ZE_RESULT_ERROR_DEVICE_LOST'],
    unknown: [0x4711, 'ZE_RESULT_0x4711'],
    devices: [
      { index: 0, name: "fake GPU (a test's libze_loader)", pciAddress: '0001:a0:02.3' },
      { index: 1, name: "fake GPU (a test's libze_loader)", pciAddress: '0001:a1:02.3' },
      { index: 65_536, name: "fake GPU (a test's libze_loader)", pciAddress: '0001:b0:02.3' },
    ],
    tooMuch: /^ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, zeMemAllocDevice; xpu-smi/,
    noDevice: /^ZE_RESULT_ERROR_INVALID_ARGUMENT, zeDeviceGet; .*index of devices\(\)$/,
    foreign: /^ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemGetAllocProperties; a dmabuf/,
  },
  {
    type: 'synapseai',
    module: synapseai,
    load: loadSynapseai,
    vendor: 'SynapseAI',
    prefix: 'Synapseai',
    library: 'libSynapse.so',
    source: 'synapse.cc',
    second: { library: 'libhl-thunk.so', source: 'thunk.cc' },
    variables: ['DEVICES', 'ONE'],
    init: 'synInitialize',
    calls: [
      'synDeviceGetCount',
      'synDeviceGetModuleIDs',
      'synDeviceGetAttributeByModuleId',
      'synDeviceMalloc',
      'synHostMalloc',
      'synMemCopyAsync',
      'synStreamSynchronize',
      'synDeviceGetInfoV2',
      'synDeviceFree',
    ],
    exporting: 'hlthunk_device_mapped_memory_export_dmabuf_fd',
    failure: [26, 'synFail'],
    unknown: [4711, 'synStatus_4711'],
    devices: [
      { index: 0, name: 'Gaudi 2', pciAddress: null },
      { index: 1, name: 'Gaudi 3', pciAddress: null },
    ],
    tooMuch: /^synOutOfDeviceMemory, synDeviceMalloc; hl-smi/,
    noDevice: /^synInvalidArgument, synDeviceAcquireByModuleId; .*index of devices\(\)/,
    foreign: /^synInvalidArgument, hlthunk_device_mapped_memory_export_dmabuf_fd; a dmabuf/,
  },
];

/** The accelerator of a type. */
export function accelerator(type: FakeAccelerator['type']): FakeAccelerator {
  return ACCELERATORS.find((each) => each.type === type) as FakeAccelerator;
}

/** A fake of a test file. */
export class Fake {
  readonly accelerator: FakeAccelerator;
  readonly #fake: FakeLibrary;

  constructor(accelerator: FakeAccelerator) {
    this.accelerator = accelerator;
    this.#fake = new FakeLibrary(accelerator.type, [...accelerator.variables, 'FAIL', 'COUNTERS']);
    this.#build(this.folder);
  }

  /** The folder of the library. */
  get folder(): string {
    return this.#fake.folder;
  }

  /** The name of a variable. */
  variable(name: string): string {
    return `FAKE_${this.accelerator.type.toUpperCase()}_${name}`;
  }

  #build(target: string, flags: readonly string[] = []): void {
    const { library, source, second } = this.accelerator;
    this.#fake.build(join(target, library), [source], flags);
    if (second !== undefined) this.#fake.build(join(target, second.library), [second.source]);
  }

  /** Loads the fake into the process of the test file. */
  load(): this {
    const { library, second } = this.accelerator;
    const all = second === undefined ? [library] : [library, second.library];
    this.#fake.load(...all.map((each) => join(this.folder, each)));
    return this;
  }

  /** Makes the N-th call of a function fail. */
  fail(name: string, result: number, number = 1): void {
    process.env[this.variable('FAIL')] = `${name}:${number}:${result}`;
  }

  /** The environment of a process that finds the fake. */
  env(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return { ...withLibrariesOf(this.folder, process.env), ...more };
  }

  /** The environment of a process that finds a fake without newer functions. */
  envOfOld(): NodeJS.ProcessEnv {
    const target = mkdtempSync(join(this.folder, 'old-'));
    this.#build(target, ['-DOLD']);
    return withLibrariesOf(target, process.env);
  }

  readonly calls = () => this.#fake.calls();

  /** What the program has not given back. */
  held() {
    const others = Object.entries(this.calls()).filter(
      ([name, count]) => /^held:(?!memory)/.test(name) && count !== 0,
    );
    return { ...this.#fake.held(), ...Object.fromEntries(others) };
  }
}
