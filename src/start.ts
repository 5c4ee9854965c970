// npm start: two processes of this machine move data through libfabric and print fabtests' tables.
import { fileURLToPath } from 'node:url';
import { channelToParent, openSide, type Side, type SideOptions, startPeer } from './cli/pair.js';
import { type Perf, perfHeader, perfRow, sizeText } from './cli/perf-table.js';
import { pingpong } from './cli/pingpong.js';
import { rmaWriteBandwidth } from './cli/rma-bw.js';
import { getInfo, libraryPath, version } from './index.js';
import { hasEfaDevice, loadSoftefa } from './softefa/index.js';

const SIZES = Array.from({ length: 24 }, (_, power) => 2 ** power); // 1 B to 8 MiB

const EMULATED = ", a device in software: its speed is not EFA's";

type Measurement = (
  side: Side,
  sizes: readonly number[],
  report: (perf: Perf) => void,
) => Promise<void>;

const MEASUREMENTS: readonly (readonly [name: string, Measurement])[] = [
  ['RMA write bandwidth, client to server, 64 writes in flight', rmaWriteBandwidth],
  ['ping-pong latency, half a round trip', pingpong],
];

/** Where no EFA device is, software ones: two hosts that only these two processes see. */
function prepareDevice(namespace: string, node: number): boolean {
  if (hasEfaDevice()) return false;
  loadSoftefa({ namespace, node });
  return true;
}

/** Where to run: over EFA, over shared memory, over sockets. */
function places(): SideOptions[] {
  const wanted: SideOptions[] = [
    { provider: 'efa' },
    { provider: 'shm' },
    { provider: 'tcp', node: '127.0.0.1' },
  ];
  return wanted.filter(({ provider }) => find(provider) !== undefined);
}

function find(provider: string) {
  return getInfo({
    fabricAttr: { provName: provider },
    epAttr: { type: 'FI_EP_RDM' },
    caps: ['FI_MSG', 'FI_RMA'],
  })[0];
}

async function client(): Promise<void> {
  const namespace = `start-${process.pid}`;
  const emulated = prepareDevice(namespace, 0);
  const { string } = version();
  console.log(`libfabric ${string} (${libraryPath()}), Node.js ${process.version}`);
  const steps = places().length * MEASUREMENTS.length * SIZES.length;
  let step = 0;
  const peer = startPeer(fileURLToPath(import.meta.url), ['--server', namespace]);
  const died = peer.ended.then((code) => {
    throw new Error(`the other process ended with code ${code}`);
  });
  died.catch(() => {}); // it may end when all is done
  const measured = (async () => {
    for (const place of places()) {
      const side = await openSide('client', peer, { ...place, driver: 'manual' });
      const { fabricAttr, domainAttr } = side.ep.info;
      const remark = emulated && fabricAttr.provName === 'efa' ? EMULATED : '';
      for (const [name, measure] of MEASUREMENTS) {
        console.log(`\n${fabricAttr.provName} (${domainAttr.name}${remark}): ${name}, verified`);
        console.log(perfHeader());
        progress(++step, steps);
        await measure(side, SIZES, (perf) => {
          progress();
          console.log(perfRow(perf));
          progress(Math.min(++step, steps), steps, `${fabricAttr.provName} ${sizeText(perf.size)}`);
        });
        progress();
        step--;
      }
      await side.ep.close();
    }
    peer.close();
  })();
  await Promise.race([measured, died]);
}

async function server(namespace: string): Promise<void> {
  prepareDevice(namespace, 1);
  const channel = channelToParent();
  for (const place of places()) {
    const side = await openSide('server', channel, { ...place, driver: 'manual' });
    for (const [, measure] of MEASUREMENTS) await measure(side, SIZES, () => {});
    await side.ep.close();
  }
}

/** A line on a terminal, gone when the next row is printed. */
function progress(step?: number, steps?: number, what = ''): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(step === undefined ? '\r\x1b[K' : `\r\x1b[K[${step}/${steps}] ${what}`);
}

try {
  const [role, namespace] = process.argv.slice(2);
  await (role === '--server' && namespace !== undefined ? server(namespace) : client());
} catch (error) {
  progress();
  console.error(error instanceof Error ? (error.stack ?? error.message) : error);
  process.exit(1);
}
