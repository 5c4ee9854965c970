// Servers of the command line do not print where they listen, unless a test is about that.
process.env.LIBFABRIC_QUIET = '1';
