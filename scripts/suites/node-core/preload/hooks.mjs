// Gives tests that are ES modules the replaced modules.
let names = [];

export function initialize(replaced) {
  names = replaced;
}

export function resolve(specifier, context, next) {
  const name = specifier.startsWith('node:') ? specifier.slice(5) : specifier;
  const isTest = context.parentURL?.includes('/test/parallel/');
  return isTest && names.includes(name)
    ? { url: `node-core:${name}`, shortCircuit: true }
    : next(specifier, context);
}

export async function load(url, context, next) {
  if (!url.startsWith('node-core:')) return next(url, context);
  const source = `export default globalThis[Symbol.for('node-core')]['${url.slice(10)}'];`;
  return { format: 'module', source, shortCircuit: true };
}
