/**
 * The variable that preloads a library into a process, after those that are preloaded here: the runtime of a sanitizer
 * must be the first.
 */
export const preloading = (library: string): { LD_PRELOAD: string } => ({
  LD_PRELOAD: [process.env.LD_PRELOAD, library].filter(Boolean).join(' '),
});
