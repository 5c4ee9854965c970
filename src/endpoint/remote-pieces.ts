// The remote side of RMA and atomics: regions of peers, and pieces of them.
import { checkInteger, checkOptions, namesOf } from '../base/checks.js';
import { closed, invalidArgType, invalidArgValue, outOfRange } from '../base/errors.js';
import { isArray } from '../base/objects.js';
import { RemoteRegion } from '../memory/remote-region.js';
import type { RemotePiece } from './located.js';
import type { Limits } from './target.js';

/** A piece of a peer's region: fi_rma_iov of fi_rma(3). */
export interface RemoteSegment {
  readonly remote: RemoteRegion;
  /** Offset in the region, in bytes. If omitted, 0. */
  readonly offset?: number;
  /** Length in bytes. If omitted, up to the end of the region. */
  readonly length?: number;
}

const NAMES = namesOf<RemoteSegment>({ remote: 1, offset: 1, length: 1 });

/** Checks that [offset, offset + length) lies within a peer's region. */
export function checkRemote(
  limits: Limits,
  remote: RemoteRegion,
  offset: number,
  length: number,
): void {
  const usable = RemoteRegion.is(remote) && remote.engine === limits.engine && !remote.closed;
  if (!usable || offset + length > remote.length)
    throw wrongRemote(limits, remote, offset + length);
}

function wrongRemote(limits: Limits, remote: unknown, end: number): Error {
  if (!RemoteRegion.is(remote)) return invalidArgType('remote', 'a RemoteRegion', remote);
  if (remote.engine !== limits.engine)
    return invalidArgValue('remote', 'belongs to another domain');
  if (remote.closed) return closed('the remote region');
  return outOfRange('offset + length', `at most ${remote.length} (the remote region)`, end);
}

interface RemotePieces {
  readonly regions: readonly RemoteRegion[];
  readonly pieces: [RemotePiece, ...RemotePiece[]];
}

/** Checks and lists the pieces of remote regions for a transfer of `length` bytes. */
export function checkRemotePieces(
  limits: Limits,
  remote: RemoteRegion | readonly RemoteSegment[],
  start: number,
  length: number,
): RemotePieces {
  if (!isArray(remote)) {
    const region = remote as RemoteRegion;
    checkRemote(limits, region, start, length);
    return { regions: [region], pieces: [{ handle: region.handle, offset: start, length }] };
  }
  const { remoteSegments } = limits;
  const { length: count } = remote; // checked before the copy: a sparse array may have 2 ** 32 - 1
  if (!(count >= 1 && count <= remoteSegments)) {
    throw outOfRange('remote.length', `from 1 to ${remoteSegments} (rmaIovLimit)`, count);
  }
  const segments: RemoteSegment[] = Array.from({ length: count }, (_, i) => remote[i]);
  if (start !== 0)
    throw invalidArgValue(
      'options.offset',
      'is for a single region: set the offset of each segment',
    );
  const regions: RemoteRegion[] = [];
  const pieces: RemotePiece[] = [];
  let total = 0;
  for (const [i, segment] of segments.entries()) {
    const { region, ...piece } = remotePiece(limits, segment, `remote[${i}]`);
    regions.push(region);
    pieces.push(piece);
    total += piece.length;
  }
  if (total !== length) {
    throw outOfRange('remote', `as long as the buffers, ${length} bytes`, total);
  }
  return { regions, pieces: pieces as RemotePieces['pieces'] };
}

function remotePiece(limits: Limits, segment: RemoteSegment, name: string) {
  const { remote, offset = 0, length } = checkOptions(name, segment ?? null, NAMES);
  checkInteger(`${name}.offset`, offset);
  if (length !== undefined) checkInteger(`${name}.length`, length);
  const region = remote as RemoteRegion;
  checkRemote(limits, region, offset, length ?? 0);
  return { region, handle: region.handle, offset, length: length ?? region.length - offset };
}
