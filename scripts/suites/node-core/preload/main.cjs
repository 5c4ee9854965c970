// Preloaded into the tests of Node.js: gives them modules whose connections travel over the fabric. The modules of Node.js
// itself, and of the package, stay as they are.
const Module = require('node:module');

const part = process.env.NODE_CORE_PART;
const fabric = { provider: process.env.NODE_CORE_PROVIDER };
const replaced =
  part === 'http' ? require('./http.cjs')(fabric) : require('./net.cjs').modulesOf(part, fabric);

const load = Module._load;
Module._load = function (request, ...others) {
  const name = request.startsWith('node:') ? request.slice(5) : request;
  return Object.hasOwn(replaced, name) ? replaced[name] : load.call(this, request, ...others);
};

if (process.argv[1]?.endsWith('.mjs'))
  Module.register('./hooks.mjs', {
    parentURL: require('node:url').pathToFileURL(__filename),
    data: Object.keys(replaced),
  });
globalThis[Symbol.for('node-core')] = replaced;
