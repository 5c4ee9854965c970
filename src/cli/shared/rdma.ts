/** Who carries out RMA: the device, or the provider in software. */
export type RmaImplementation = 'device' | 'emulated';

/** What an endpoint reports about its RMA. */
export interface Rdma {
  readonly reads: RmaImplementation;
  readonly writes: RmaImplementation;
}
