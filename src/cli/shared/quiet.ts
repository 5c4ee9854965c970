/** The environment variable that leaves out where a server listens. */
export const QUIET = 'LIBFABRIC_QUIET';

export const isQuiet = (): boolean => Boolean(process.env[QUIET]);
