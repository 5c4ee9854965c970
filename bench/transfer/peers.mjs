// Figures of an engine with many peers, and after many offers. Each function returns { contenders }: functions that
// do something once and resolve to milliseconds for each transfer.
const LENGTH = 64 * 1024;
const ROUND = 200; // transfers
const AT_ONCE = 256;

/** Transfers to many peers in turn, against as many to two of them. */
export async function peersInTurn(bench, count) {
  const among = await knowing(bench, count);
  return { contenders: { many: () => among(count), two: () => among(2) } };
}

/** Transfers to two peers of many, against those of an engine that has only two. The other peers rest. */
export async function peersAtRest(bench, count) {
  const [many, two] = [await knowing(bench, count), await knowing(bench, 2)];
  return { contenders: { many: () => many(2), two: () => two(2) } };
}

/** An engine with so many peers. The result transfers to the first ones of them, in turn. */
async function knowing(bench, count) {
  const pair = await bench.open({ nics: 1, size: LENGTH, small: true });
  const addresses = await pair.ask('engines', {
    count,
    address: pair.engine.address,
    length: LENGTH,
  });
  const peers = await Promise.all(addresses.map((address) => pair.engine.peer(address)));
  const write = async (numbers) => {
    const tokens = await pair.ask('offersOf', numbers);
    const start = performance.now();
    for (const [i, token] of tokens.entries()) await peers[numbers[i]].write(pair.memory, token);
    return (performance.now() - start) / numbers.length;
  };
  // Every path is opened once.
  for (let i = 0; i < count; i += AT_ONCE) {
    await write(addresses.slice(i, i + AT_ONCE).map((_, k) => i + k));
  }
  let next = 0;
  return (among) => write(Array.from({ length: ROUND }, () => next++ % among));
}

/** Transfers of an engine that has had many offers, against those of a new one. */
export async function manyOffers(bench, count) {
  const sides = {
    old: await bench.open({ size: LENGTH }),
    fresh: await bench.open({ size: LENGTH }),
  };
  const write = async ({ ask, remote, memory }, transfers, length) => {
    const from = memory.slice(0, length);
    const tokens = await ask('offers', { count: transfers, length });
    const start = performance.now();
    for (const token of tokens) await remote.write(from, token);
    return (performance.now() - start) / transfers;
  };
  for (let made = 0; made < count; made += AT_ONCE) await write(sides.old, AT_ONCE, 4096);
  return {
    contenders: {
      old: () => write(sides.old, ROUND, LENGTH),
      fresh: () => write(sides.fresh, ROUND, LENGTH),
    },
  };
}
