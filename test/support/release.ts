import { version } from 'libfabric';

/** The release of libfabric as major * 100 + minor: 207 for 2.7.0a1, whose API is that of 2.6. */
export function release(): number {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version().string) ?? [];
  return Number(major) * 100 + Number(minor);
}

/** Whether efa ends aborted sends and RMA with their memory. */
export const endsAborted = (): boolean => release() >= 207;
