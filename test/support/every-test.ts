// Hooks of helpers for all tests of a process. A process runs many files, but evaluates a helper only once, so that a hook
// of vitest in a helper would be a hook of the first file.
type Hook = () => unknown;

const hooks = { before: [] as Hook[], after: [] as Hook[], afterFile: [] as Hook[] };

/** Calls a function before every test. */
export const beforeEveryTest = (hook: Hook): void => void hooks.before.push(hook);
/** Calls a function after every test. */
export const afterEveryTest = (hook: Hook): void => void hooks.after.push(hook);
/** Calls a function after every file. */
export const afterEveryFile = (hook: Hook): void => void hooks.afterFile.push(hook);

/** Calls the hooks of one kind. Those that were registered last come first, as vitest calls its own. */
export async function callHooks(kind: keyof typeof hooks): Promise<void> {
  for (const hook of hooks[kind].toReversed()) await hook();
}
