// COUNT receivers of RATE MB/s, SIZE MiB each. SHAPE fan-out | fan-in
import { SoftefaFaults, loadSoftefa } from 'libfabric/softefa';
import { TransferEngine } from 'libfabric/transfer';
const { MANY = 6, RATE = 50, SIZE = 16, SHAPE = 'fan-out', LIVE = 5000, NICS } = process.env;
process.env.FI_EFA_ENABLE_SHM_TRANSFER ??= '0';
if (NICS) process.env.SOFTEFA_NICS = NICS;
const namespace = 'links' + process.pid; process.env.SOFTEFA_KEEP='0';
loadSoftefa({ namespace, asynchronous: true, memlock: 'unlimited' });
const bytes = new Uint8Array(SIZE * 2 ** 20).fill(3);
const faults = new SoftefaFaults({ namespace });
const engines = [];
for (let i = 0; i <= MANY; i++) engines.push(await TransferEngine.open({ provider: 'efa', liveness: +LIVE }));
console.log(engines[0].rails.map((r) => r.path).join());
if (process.env.EVENTS) for (const [i, e] of engines.entries()) (async () => { for await (const ev of e.events()) console.log((performance.now() | 0), i, ev.type, ev.state ?? ev.rail?.state, ev.peer && engines.findIndex((x) => x.id === ev.peer.id), ev.reason ?? ev.error?.message); })();
const [one, ...many] = engines;
async function prepare(from, to) {
  const [toTo, toFrom] = [await from.peer(to.address), await to.peer(from.address)];
  const memory = await to.allocate(bytes.length);
  return { toTo, toFrom, memory, src: await from.register(bytes) };
}
const all = await Promise.all(many.map((o) => SHAPE === 'fan-out' ? prepare(one, o) : prepare(o, one)));
if (process.env.HELLOB) { const h = performance.now(); await Promise.all(all.map(async ({ toTo }, i) => { await toTo.notify(Buffer.from('x')); console.log('hello', i, (performance.now() - h).toFixed(1)); })); }
faults.add('rate', { value: +RATE });
if (process.env.HELLO0) { const h = performance.now(); await Promise.all(all.map(async ({ toTo }, i) => { await toTo.notify(Buffer.from('x')); console.log('hello', i, (performance.now() - h).toFixed(1)); })); }
if (process.env.WARM) for (const { toTo, toFrom, memory, src } of all) { const o = await memory.slice(0, 4096).offer({ access: 'write', to: toFrom }); await toTo.write(src.slice(0, 4096), o.token); await o.arrived; }
const pause = +(process.env.PAUSE ?? 0); if (pause) await new Promise((r) => setTimeout(r, pause));
if (process.env.HELLO) { const h = performance.now(); await Promise.all(all.map(async ({ toTo }, i) => { await toTo.notify(Buffer.from('x')); console.log('hello', i, (performance.now() - h).toFixed(1)); })); }
const t = performance.now();
const line = []; const iv = setInterval(() => line.push((performance.now() - t | 0) + ':' + one.rails.map((r) => r.slices).join('/') + ' ' + all.map(a => a.r?.() ?? '').join(',')), 50);
const reports = await Promise.all(all.map(async ({ toTo, toFrom, memory, src }) => {
  const offer = await memory.offer({ access: 'write', to: toFrom });
  const r = await toTo.write(src, offer.token).catch((e) => { console.log('failed', performance.now() - t | 0, e.message); return { retries: NaN }; });
  await offer.arrived.catch(() => {});
  return r.retries;
}));
clearInterval(iv); if (process.env.LINE) console.log(line.join('\n'));
const took = (performance.now() - t) / 1000;
const need = MANY * bytes.length / (RATE * 1e6 * one.rails.length);
console.log(`${SHAPE} ${MANY} x ${SIZE} MiB at ${RATE} MB/s, ${one.rails.length} NICs: ${took.toFixed(2)} s, needs ${need.toFixed(2)}, ${(took / need).toFixed(2)}x, retries ${reports}`, JSON.stringify((SHAPE === 'fan-out' ? [one] : many).map((e) => e.rails.map((r) => [r.slices, r.retries, r.stalls, r.failures].join('/')).join(' '))));
faults.clear();
process.exit();
