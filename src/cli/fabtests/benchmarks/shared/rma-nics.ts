// RMA over several NICs at once, with an endpoint on each NIC of both sides. fabtests have no such
// test. The session's endpoint carries the control messages.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cap, MrAccess } from '../../../../base/flags.js';
import type { Peer } from '../../../../base/peer.js';
import type { AnyInfo } from '../../../../contract/info-types.js';
import type { MemoryRegion } from '../../../../memory/memory-region.js';
import type { RemoteRegion } from '../../../../memory/remote-region.js';
import { Flow, pump } from '../../common/flow.js';
import { type Timing, Usage } from '../../common/measure.js';
import { freeDeviceMemory, TestMemory } from '../../common/memory.js';
import { chooseNics, closeNics, type Nic, nicOf, openNics } from '../../common/nics.js';
import type { Session } from '../../common/session.js';
import type { MeasureSize } from './benchmark.js';
import { rmaCaps } from './rma.js';

/** The NICs of a side, as it reports them to its peer. */
interface NicAddresses {
  readonly nics: readonly { readonly address: string; readonly region: string }[];
}

interface OwnLane extends Nic {
  readonly name: string;
  readonly own: MemoryRegion;
  readonly offered: MemoryRegion;
}

/** A NIC of this side, its memory, and the peer's NIC with the same index. */
interface Lane extends OwnLane {
  readonly peer: Peer;
  readonly remote: RemoteRegion;
}

/** Opens the NICs that the settings select, and prepares the parts that all sizes share. */
export async function prepareNics(session: Session, room: number): Promise<MeasureSize> {
  if (!session.samePackage) {
    throw new Error('--nics: fabtests use one NIC; both sides must run this package with --nics');
  }
  const nics = await openNics(chosen(session));
  session.onClose(async () => {
    await closeNics(nics);
    for (const { domain } of nics) freeDeviceMemory(domain);
  });
  session.nics = nics.map(({ ep }) => ep.info as AnyInfo);
  const own = await Promise.all(nics.map((nic) => withMemory(nic, session, room)));
  const lanes = connect(own, await exchangeNicAddresses(session, own));
  return (size, iterations) => measureLanes(session, lanes, size, iterations);
}

function chosen({ info, settings }: Session): AnyInfo[] {
  const { fabric, nics, operation } = settings;
  const { deviceMemory } = settings;
  const byPointer = deviceMemory !== undefined && deviceMemory.access !== 'FI_MR_DMABUF';
  const hmem: readonly Cap[] = byPointer ? ['FI_HMEM'] : [];
  const caps: readonly Cap[] = [...rmaCaps(operation), ...hmem];
  const provider = info.fabricAttr.provName;
  const choice = {
    ...(provider !== null && { provider }),
    ...(fabric !== undefined && { fabric }),
    ...(nics !== undefined && { nics }),
  };
  const found = chooseNics(choice, caps, 0);
  if (found.length > 1) return found;
  throw new Error(`--nics: ${found.map(nicOf)} is the only NIC; leave it out, or name it with -d`);
}

async function withMemory(nic: Nic, { settings }: Session, room: number): Promise<OwnLane> {
  const reads = settings.operation === 'read';
  const allocate = (access: MrAccess) =>
    TestMemory.allocate(nic.domain, room, [access], settings.deviceMemory);
  const own = await allocate(reads ? 'FI_READ' : 'FI_WRITE');
  const offered = await allocate(reads ? 'FI_REMOTE_READ' : 'FI_REMOTE_WRITE');
  const sent = reads ? offered : own;
  sent.fill(sent.region.slice(0));
  const name = nicOf(nic.ep.info as AnyInfo);
  return { ...nic, name, own: own.region, offered: offered.region };
}

/** Exchanges the addresses and memory of both sides' NICs. */
async function exchangeNicAddresses(
  session: Session,
  lanes: readonly OwnLane[],
): Promise<NicAddresses> {
  const { link } = session.connections;
  if (link === undefined) throw new Error('--nics: the sides have no TCP connection');
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  const card: NicAddresses = {
    nics: lanes.map(({ ep, offered }) => ({
      address: text(ep.address),
      region: text(offered.descriptor()),
    })),
  };
  link.send(card);
  // A peer without --nics sends nothing at this point.
  const silence = sleep(session.settings.timeout * 500, undefined, { ref: false });
  const reply = (await session.until(Promise.race([link.receive(), silence]))) as
    | Partial<NicAddresses>
    | undefined;
  const theirs = reply?.nics?.length ?? 1;
  if (theirs !== lanes.length) {
    throw new Error(`--nics: ${lanes.length} NICs here and ${theirs} at the peer`);
  }
  return reply as NicAddresses;
}

function connect(lanes: readonly OwnLane[], { nics }: NicAddresses): Lane[] {
  const bytes = (text = '') => Buffer.from(text, 'base64');
  return lanes.map((lane, i) => ({
    ...lane,
    peer: lane.ep.av.insert(bytes(nics[i]?.address)),
    remote: lane.domain.remote(bytes(nics[i]?.region)),
  }));
}

/** Runs the same number of iterations on every NIC, on both sides at once. */
async function measureLanes(
  session: Session,
  lanes: readonly Lane[],
  size: number,
  iterations: number,
): Promise<Timing> {
  const { warmUp } = session.settings;
  await session.sync();
  if (warmUp > 0) await transfer(session, lanes, size, warmUp);
  await session.sync();
  const usage = new Usage();
  const { counts, seconds } = await transfer(session, lanes, size, iterations);
  const cpu = usage.cores;
  return {
    iterations: counts.reduce((sum, count) => sum + count, 0),
    seconds: Math.max(...seconds),
    samples: new Float64Array(0),
    slices: [],
    cpu,
    nics: lanes.map(({ name }, i) => ({
      name,
      megabytesPerSecond: ((counts[i] as number) * size) / (seconds[i] as number) / 1e6,
    })),
  };
}

/**
 * Transfers over all NICs. Returns the transfers and the seconds of each NIC. Two batches of half a
 * window keep each NIC's window full.
 */
async function transfer(
  session: Session,
  lanes: readonly Lane[],
  size: number,
  iterations: number,
) {
  const { settings, waiter } = session;
  const half = Math.ceil(Math.min(settings.window, iterations) / 2);
  const total = Math.ceil(iterations / half);
  const flows = lanes.map(({ ep, own, peer, remote }) => {
    const batch = ep.batch();
    for (let i = 0; i < half; i++) {
      if (settings.operation === 'read') batch.read(own.slice(0, size), peer, remote);
      else batch.write(own.slice(0, size), peer, remote);
    }
    return new Flow({ batch, depth: 2, total });
  });
  const start = await pump(lanes, flows, {
    timeout: settings.timeout * 1000,
    yieldToEvents: () => waiter.yieldToEvents(),
  });
  for (const { batch } of flows) batch.close();
  return {
    counts: flows.map(({ completed }) => completed * half),
    seconds: flows.map(({ last }) => (last - start) / 1000),
  };
}
