/** The seed of random tests, of 32 bits. LIBFABRIC_TEST_SEED repeats them with another one, as the nightly workflow does. */
export const seed = Number(process.env.LIBFABRIC_TEST_SEED ?? 1) >>> 0;
