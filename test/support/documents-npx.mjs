// Replaces `npx` for the commands in the documents with the command line of this build. For a command with two sides,
// the line of the server does nothing, and the line of the client starts both sides. Benchmarks are short. A command
// that would run forever ends after its first line of output.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.mjs';

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const [name, command = '', ...args] = process.argv.slice(2);
if (name !== 'libfabric') throw new Error(`npx ${name}`);

const CHECK = /^(rdm|dgram|cq-data|multi-recv|recv-cancel|unexpected-msg|av-xfer|multi-ep|inject)$/;
const BENCHMARK = /^(rma-.*|rdm-.*|dgram-.*|transfer)$/;
const HOST = /^(\d+\.\d+\.\d+\.\d+|localhost)$/;

const start = (args, stdio = 'inherit') =>
  spawn(process.execPath, [main, ...args], { stdio: ['ignore', stdio, 'inherit'] });

async function end(child) {
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`${child.spawnargs.slice(2).join(' ')}: ${signal ?? code}`);
}

async function bothSides() {
  const options = args.filter((arg) => !/^-[bE]$/.test(arg));
  const host = options.findLastIndex((arg) => HOST.test(arg));
  if (host < 0) return;
  const [server] = options.splice(host, 1);
  if (BENCHMARK.test(command) && !options.includes('-I')) options.push('-I', '20', '-w', '2');
  const port = await freePort();
  const all = [command, ...options, `-E=${port}`];
  const json = options.indexOf('--json');
  const ofServer = json < 0 ? all : all.toSpliced(json + 1, 1);
  await Promise.all([end(start(ofServer, 'ignore')), end(start([...all, server]))]);
}

/** Ends a command after its first line of output. */
async function firstLine() {
  const port = await freePort();
  const localArgs = args.map((arg) => arg.replace(/:\d+$/, `:${port}`));
  const child = start([command, ...localArgs], 'pipe');
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  await once(child, 'close');
}

if (CHECK.test(command) || BENCHMARK.test(command)) await bothSides();
else if (args.some((arg) => arg === '--watch' || arg === '--listen')) await firstLine();
else await end(start([command, ...args]));
