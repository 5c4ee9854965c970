import type { AddrFormat, EpType } from '../../../base/flags.js';
import { isNameless } from './open-endpoint.js';
import { type Flags, modelsOf } from './options.js';
import { DEVICE_TYPES, type Operation, type Settings } from './settings.js';
import type { Written } from './written-arguments.js';

/** The properties of a test that its options depend on. */
export interface TestKind {
  /** `'rma-bw'`. */
  readonly command: string;
  readonly type: EpType;
  /** The operations that `-o` accepts; the first is the default. */
  readonly operations?: readonly Operation[];
  /** Whether `-t counter` is supported. */
  readonly counters?: boolean;
  /** Why `-v` is not supported; undefined if it is. */
  readonly unverifiable?: (operation: Operation | undefined) => string | undefined;
  /** Why `-D`, `-H` and `-R` are not supported; undefined if they are. */
  readonly hostOnly?: (operation: Operation | undefined) => string | undefined;
  /** The sides always synchronize out of band. */
  readonly oobSync?: boolean;
  /** The sides always exchange addresses out of band. */
  readonly oobExchange?: boolean;
}

const FORMATS: Record<string, AddrFormat> = {
  fi_sockaddr: 'FI_SOCKADDR',
  fi_sockaddr_in: 'FI_SOCKADDR_IN',
  fi_sockaddr_in6: 'FI_SOCKADDR_IN6',
  fi_addr_str: 'FI_ADDR_STR',
};

const TIMEOUT = 10;
const OOB_PORT = 3000;

/** Options that are not supported: the reason and the closest alternative. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}

const refuse = (text: string): never => {
  throw new Refusal(`error: ${text}`);
};

function refuseAbsent(flags: Flags): void {
  if (flags.avName !== undefined) refuse('-a: named address vectors are not offered; leave it out');
  if (flags.fork) refuse('-K: Node.js does not fork its own process; leave it out');
  if (flags.eqOnDomain) refuse('-Q: this package uses no event queue here; leave it out');
  if (flags.method !== 'spin') {
    refuse(`-c ${flags.method}: the loops of this test poll; only -c spin is supported`);
  }
}

const DEVICES = DEVICE_TYPES.join(' or ');

function memoryOf(flags: Flags, kind: TestKind, operation: Operation | undefined) {
  const { device, deviceId = 0, hmem, dmabuf, inject } = flags;
  const name = device?.toLowerCase();
  const type = DEVICE_TYPES.find((each) => each === name);
  if (name !== undefined && type === undefined) refuse(`-D must be ${DEVICES}, not ${device}`);
  if (type === undefined && dmabuf) {
    refuse(`-R: a dmabuf is of the memory of a device; add -D with ${DEVICES}`);
  }
  if (type === undefined && !hmem) return {};
  const datagrams = kind.type === 'FI_EP_DGRAM' && 'datagrams cannot use memory of a device';
  const reason = kind.hostOnly?.(operation) ?? (datagrams || undefined);
  if (reason !== undefined) refuse(`${type === undefined ? '-H' : '-D'}: ${reason}`);
  if (type === undefined) return { hmem: true } as const;
  // hmem_neuron.c: libfabric does not copy from such memory.
  if (type === 'neuron' && (flags.provider ?? 'efa') !== 'efa') {
    refuse(
      `-D neuron: ${flags.provider} copies with the CPU, and libfabric cannot copy from memory of Neuron; use -p efa`,
    );
  }
  if (inject !== undefined)
    refuse('-j: the CPU copies what is injected, and -D is out of its reach');
  const access = dmabuf ? ({ access: 'FI_MR_DMABUF' } as const) : {};
  return { deviceMemory: { type, device: deviceId, ...access }, ...(hmem && { hmem }) };
}

function typeOf(flags: Flags, kind: TestKind): EpType {
  const given = flags.type?.toLowerCase();
  if (given === undefined) return kind.type;
  if (given === 'msg') {
    refuse('-e msg: connected endpoints (FI_EP_MSG) are not offered, and efa has none; use -e rdm');
  }
  const type = ({ rdm: 'FI_EP_RDM', dgram: 'FI_EP_DGRAM' } as const)[given];
  if (type === undefined) return refuse(`-e must be rdm or dgram, not ${flags.type}`);
  if (type === kind.type) return type;
  return refuse(
    type === 'FI_EP_DGRAM'
      ? `-e dgram: ${kind.command} needs a reliable endpoint; for datagrams use dgram-pingpong`
      : `-e rdm: ${kind.command} measures datagrams; use rdm-pingpong`,
  );
}

function operationOf(flags: Flags, kind: TestKind): Operation | undefined {
  const { operations } = kind;
  const given = flags.operation?.toLowerCase();
  if (given === undefined) return operations?.[0];
  const found = operations?.find((operation) => operation === given);
  if (found !== undefined) return found;
  if (operations === undefined) return refuse(`-o: ${kind.command} has one operation only`);
  return refuse(`-o must be ${operations.join(', ')} with ${kind.command}, not ${flags.operation}`);
}

function addrFormatOf(text: string | undefined): AddrFormat | undefined {
  if (text === undefined) return undefined;
  const format = FORMATS[text.toLowerCase()];
  return format ?? refuse(`-F must be one of ${Object.keys(FORMATS).join(', ')}, not ${text}`);
}

function releaseOf(text: string | undefined): string | undefined {
  if (text === undefined || /^[12]\.\d+(\.\d+)?$/.test(text)) return text;
  return refuse(`--fabtests must be a release, such as 1.17 or 2.6, not ${text}`);
}

function exchangeOf(flags: Flags, kind: TestKind) {
  const nameless = isNameless(flags.provider) && flags.source === undefined;
  const oobSync = flags.oob !== undefined || kind.oobSync === true;
  const asked = flags.oob !== undefined || flags.exchange !== undefined;
  return {
    oobSync,
    oobExchange: asked || kind.oobExchange === true || nameless,
    oobPort: flags.oob ?? flags.exchange ?? OOB_PORT,
  };
}

/** The settings for these options. Throws a Refusal for options that are not supported. */
export function chooseSettings(
  kind: TestKind,
  flags: Flags,
  host: string | undefined,
  written: Written,
): Settings {
  refuseAbsent(flags);
  const type = typeOf(flags, kind);
  const operation = operationOf(flags, kind);
  const addrFormat = addrFormatOf(flags.format);
  const release = releaseOf(flags.fabtests);
  if (!['queue', 'counter'].includes(flags.completionType)) {
    refuse(`-t must be queue or counter, not ${flags.completionType}`);
  }
  if (flags.completionType === 'counter' && !kind.counters) {
    refuse(
      `-t counter: ${kind.command} uses completion queues; for counters use rdm-cntr-pingpong`,
    );
  }
  const unverifiable = flags.verify && kind.unverifiable?.(operation);
  if (unverifiable) refuse(`-v: ${unverifiable}`);
  if (flags.nics !== undefined && operation === 'writedata') {
    refuse('--nics: several NICs write or read; data goes with the writes of one NIC');
  }
  if (flags.nics !== undefined && flags.verify) {
    refuse('--nics: nothing signals when the data of each NIC may be verified; use all-to-all -v');
  }
  return {
    command: kind.command,
    ...written,
    type,
    ...(host !== undefined && { host }),
    ...(flags.provider !== undefined && { provider: flags.provider }),
    ...(flags.fabric !== undefined && { fabric: flags.fabric }),
    ...(flags.domain !== undefined && { domain: flags.domain }),
    ...(addrFormat !== undefined && { addrFormat }),
    ...(flags.source !== undefined && { sourceAddress: flags.source }),
    ...(flags.sourcePort !== undefined && { sourcePort: flags.sourcePort }),
    ...(flags.port !== undefined && { destinationPort: flags.port }),
    ...(flags.nics !== undefined && { nics: flags.nics }),
    connections: flags.connections,
    ...exchangeOf(flags, kind),
    ...(flags.oobAddress !== undefined && { oobAddress: flags.oobAddress }),
    ...(release !== undefined && { release }),
    sizes: flags.size,
    ...(flags.iterations !== undefined && { iterations: flags.iterations }),
    warmUp: flags.warmUp,
    window: flags.window,
    ...(operation !== undefined && { operation }),
    verify: flags.verify === true,
    ...(flags.inject !== undefined && { injectSize: flags.inject }),
    ...memoryOf(flags, kind, operation),
    prePosted: flags.rx,
    prefix: flags.prefix === true,
    deliveryComplete: flags.deliveryComplete === true,
    counters: flags.completionType === 'counter',
    ...modelsOf(flags),
    ...(flags.maxMsgSize !== undefined && { maxMsgSize: flags.maxMsgSize }),
    fiMore: flags.useFiMore === true,
    // With FI_RX_CQ_DATA, writes with data would consume receives, and these tests post none.
    rxCqData: flags.rxCqData && operation !== 'writedata',
    output: flags.json ? 'json' : flags.machine ? 'yaml' : 'table',
    statistics: flags.stats === true || flags.json === true,
    ...(flags.label !== undefined && { label: flags.label }),
    timeout: flags.timeout ?? TIMEOUT,
    ...(flags.pinCore !== undefined && { pinCore: flags.pinCore }),
  };
}
