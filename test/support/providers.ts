// The providers and drivers that tests run with.

/** Providers of reliable endpoints. libfabric 2 calls tcp;ofi_rxm tcp. */
export const reliable = ['efa', 'shm', 'tcp;ofi_rxm', 'sockets', 'udp;ofi_rxd', 'net'] as const;
/** The providers that applications use. efa runs on the software device. */
export const common = ['efa', 'shm', 'tcp;ofi_rxm'] as const;
export const datagram = ['efa', 'udp', 'sockets'] as const;
export const drivers = ['thread', 'loop', 'manual'] as const;

/** The same providers, as open() finds them with any libfabric. */
export const PROVIDERS = ['efa', 'shm', 'tcp'] as const;
