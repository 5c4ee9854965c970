/** The environment variable that suppresses the line with a server's address. */
export const QUIET = 'LIBFABRIC_QUIET';

export const isQuiet = (): boolean => Boolean(process.env[QUIET]);
