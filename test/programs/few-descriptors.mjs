// node few-descriptors.mjs PROVIDER: opens endpoints with more and more file descriptors available, and prints the
// outcomes. If a provider crashes, this process ends and not the test. Must be run with a low descriptor limit.
import { closeSync, openSync } from 'node:fs';
import { FabricError, open } from 'libfabric';

const [provider] = process.argv.slice(2);
const node = provider === 'shm' || provider === 'efa' ? {} : { node: '127.0.0.1' };
const opened = () => open({ provider, driver: 'manual', ...node });
await (await opened()).close();

function takeAll() {
  const descriptors = [];
  try {
    for (;;) descriptors.push(openSync('/dev/null'));
  } catch {
    return descriptors;
  }
}

const outcomes = [];
for (const free of [0, 1, 2, 3, 5, 8, 30]) {
  const descriptors = takeAll();
  for (const fd of descriptors.splice(0, free)) closeSync(fd);
  try {
    const ep = await opened();
    await ep.close();
    outcomes.push('ok');
  } catch (error) {
    if (!FabricError.is(error)) throw error;
    outcomes.push(error.code);
  }
  for (const fd of descriptors) closeSync(fd);
}
await (await opened()).close();
console.log(JSON.stringify(outcomes));
