// Calls every function of the addon with handles of the wrong kind and with garbage, and prints the outcome. A
// crash ends this process and not the test.
import { open } from 'libfabric';
import { loadOnce } from '../../dist/contract/native.js';

const ep = await open({ provider: 'shm', driver: 'manual' });
const region = await ep.domain.allocate(64, ['FI_SEND']);
const handles = {
  undefined,
  null: null,
  number: 5,
  string: 'x',
  object: {},
  function: () => {},
  symbol: Symbol('x'),
  region,
  av: ep.av.handle,
  cq: ep.receiveQueue.handle,
};
// Functions that take no handle, that would replace the constructor of errors, or close a descriptor of this process.
const discovery = ['version', 'libraryPath', 'strerror', 'getinfo', 'query', 'getparams'];
const names = ['nameTables', 'namesFromBits', 'bitsFromNames', 'nearestNames'];
const skipped = [
  'initialize',
  'closeDescriptor',
  ...discovery,
  ...names,
  'layout',
  'parkedDomains',
  'heapTrim',
  'engine',
];

const answers = {};
for (const [name, call] of Object.entries(loadOnce())) {
  if (skipped.includes(name)) continue;
  const takesAv = name.startsWith('av') && name !== 'avOpen';
  const takesCq = name.startsWith('cq') && name !== 'cqOpen';
  for (const [kind, handle] of Object.entries(handles)) {
    if ((kind === 'av' && takesAv) || (kind === 'cq' && takesCq)) continue;
    for (const rest of [[], [undefined, null, {}, []], [5, 'x', -1, 2n], [{}, {}, {}, {}]]) {
      try {
        await call(handle, ...rest);
        answers[`${name}(${kind})`] = 'accepted';
      } catch (error) {
        const typed = error instanceof TypeError && error.code === 'ERR_INVALID_ARG_TYPE';
        answers[`${name}(${kind})`] ??= typed ? 'typed' : `${error.name}: ${error.message}`;
      }
    }
  }
}

// The right handle, followed by garbage.
const garbage = [undefined, null, 'x', {}, [], Number.NaN, -1, 2 ** 60, 2n ** 70n, Symbol('x')];
const survived = { av: 0, cq: 0, engine: 0 };
for (const [prefix, handle] of [
  ['av', ep.av.handle],
  ['cq', ep.receiveQueue.handle],
]) {
  for (const [name, call] of Object.entries(loadOnce())) {
    if (!name.startsWith(prefix) || /Open$|Close$|Expect$/.test(name)) continue;
    for (const first of garbage) {
      for (const second of garbage) {
        try {
          await call(handle, first, second);
        } catch (error) {
          if (!(error instanceof Error)) throw error;
        }
        survived[prefix]++;
      }
    }
  }
}

// The engine's functions, which use only the number of their domain. There is only one domain, 0.
for (const call of Object.values(loadOnce().engine)) {
  for (const number of [undefined, null, 'x', {}, Symbol('x'), 2n ** 70n, 1, 2 ** 32 - 1]) {
    call(number);
    call();
    survived.engine++;
  }
}

const self = ep.av.insert(ep.address);
const batch = ep.batch();
const got = new Uint8Array(4);
batch.recv(got);
batch.send(Uint8Array.of(1, 2, 3, 4), self);
batch.run(5000);
console.log(JSON.stringify({ answers, survived, got: [...got] }));
process.exit(0);
