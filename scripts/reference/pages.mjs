// Which page of the reference describes which exports. An export without a page of its own is on the page `types`
// of its module.

export const INDEX = 'README';

/**
 * - file: the name of the file.
 * - title: the heading; by default the first name.
 * - intro: the first paragraph of a page whose heading is not an export.
 * - module: the name by which programs import it; by default libfabric.
 * - names, with: the exports that the page describes.
 * - rest: describes the module's exports that are on no other page.
 * - type: the type whose members are listed. `also` names the exports that it is made of.
 * - like: the page that describes calls of the same names, and how they differ here.
 */
export const PAGES = [
  {
    file: 'open',
    title: 'Opening and discovery',
    intro:
      'Functions that start everything: they find out what libfabric offers, and open endpoints.',
    names: [
      'open',
      'getInfo',
      'infoToString',
      'providers',
      'getParams',
      'version',
      'libraryPath',
      'strerror',
    ],
    with: ['OpenOptions', 'Hints'],
  },
  {
    file: 'endpoint',
    names: ['Endpoint'],
    also: ['EndpointBase', 'Calls'],
    type: "Endpoint<'FI_EP_RDM'>",
    with: [
      'EndpointOptions',
      'OperationOptions',
      'VectorOptions',
      'TaggedRecvOptions',
      'RmaOptions',
      'RmaVectorOptions',
      'AtomicOptions',
      'CloseOptions',
    ],
  },
  {
    file: 'post',
    title: 'Endpoint.post',
    names: ['Post'],
    also: ['QueuedCalls'],
    type: "Post<'FI_EP_RDM'>",
    like: {
      page: 'endpoint',
      note: 'They return nothing: their completions are read from the completion queue.',
    },
  },
  {
    file: 'batch',
    names: ['Batch'],
    also: ['BatchBase'],
    type: "Batch<'FI_EP_RDM'>",
    like: { page: 'endpoint', note: 'They add an operation to the batch and return its index.' },
    with: ['RunOptions', 'RoundOptions', 'BatchUpdate'],
  },
  { file: 'messages', names: ['Messages', 'Message', 'MessagesOptions'] },
  { file: 'multi-recv', names: ['MultiRecv', 'MultiRecvMessage', 'StreamOptions'] },
  { file: 'fabric', names: ['Fabric'] },
  {
    file: 'domain',
    names: ['Domain'],
    with: ['DomainOptions', 'AllocateOptions', 'WaitOptions', 'Stats'],
  },
  { file: 'address-vector', names: ['AddressVector', 'AddressVectorOptions', 'Peer'] },
  {
    file: 'completion-queue',
    names: ['CompletionQueue', 'CompletionQueueOptions', 'QueueEntry', 'Completion'],
  },
  { file: 'immediates', names: ['Immediates', 'Immediate', 'ImmediatesOptions'] },
  { file: 'counter', names: ['Counter', 'CounterOptions'] },
  { file: 'memory-region', names: ['MemoryRegion', 'RegionSlice', 'RegisteredBytes'] },
  {
    file: 'device-memory',
    title: 'Device memory',
    names: ['deviceMemoryOf', 'DeviceMemory', 'DmabufMemory', 'HmemMemory', 'DeviceMemoryOptions'],
    with: ['DeviceMemorySource', 'CudaArray', 'CudaArrayInterface', 'DLTensor', 'DLManagedTensor'],
  },
  { file: 'remote-region', names: ['RemoteRegion', 'RegionDescription'] },
  {
    file: 'errors',
    title: 'FabricError',
    names: ['FabricError', 'FabricErrorDetails', 'errnoByCode'],
  },
  { file: 'diagnostics', title: 'Diagnostics', names: ['dumpState', 'dumpOnSignal', 'released'] },
  { file: 'types', title: 'Types', rest: true },
  { file: 'efa', title: 'libfabric/efa', module: 'libfabric/efa', rest: true },
  { file: 'transfer', title: 'libfabric/transfer', module: 'libfabric/transfer', rest: true },
  { file: 'http', title: 'libfabric/http', module: 'libfabric/http', rest: true },
  { file: 'directory', title: 'libfabric/directory', module: 'libfabric/directory', rest: true },
  { file: 'net', title: 'libfabric/net', module: 'libfabric/net', rest: true },
  { file: 'objects', title: 'libfabric/objects', module: 'libfabric/objects', rest: true },
  { file: 'softefa', title: 'libfabric/softefa', module: 'libfabric/softefa', rest: true },
  { file: 'verbs', title: 'libfabric/verbs', module: 'libfabric/verbs', rest: true },
  { file: 'cuda', title: 'libfabric/cuda', module: 'libfabric/cuda', rest: true },
  { file: 'neuron', title: 'libfabric/neuron', module: 'libfabric/neuron', rest: true },
  { file: 'cli-types', title: 'libfabric/cli-types', module: 'libfabric/cli-types', rest: true },
];
