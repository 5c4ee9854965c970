import type { FabricOptions } from '../../net/index.js';
import type { Flags } from './net.js';

/** What both sides say first on a socket of bytes: what the server shall do with it. */
export const ECHO = 'e';
export const SINK = 's';

/** The options of libfabric/net. */
export const fabricOf = ({ provider, driver, nics, source }: Flags): FabricOptions => ({
  ...(provider !== undefined && { provider, driver }),
  ...(nics !== undefined && { nics }),
  ...(source !== undefined && { node: source }),
});

/** A size in the path of a request. */
export const pathOf = (size: number): string => `/${size}`;
