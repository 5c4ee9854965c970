/** How RMA is carried out: by the device, or by the provider in software. */
export type RmaImplementation = 'device' | 'emulated';

/** The RMA of an endpoint, as the endpoint reports it. */
export interface Rdma {
  readonly reads: RmaImplementation;
  readonly writes: RmaImplementation;
}
