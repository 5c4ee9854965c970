// One run of a benchmark: a server and a client, of this package or of fabtests, whose YAML is parsed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { launch } from './fabtests-figures.mjs';
import { notPinned } from './harness/pair.mjs';

const HOST = '127.0.0.1';
const TIMEOUT = 300_000; // ms
const END_TIMEOUT = 2_000; // ms in which the server must exit after the client has failed

/**
 * Runs both sides until they end.
 * @returns {object[]} the client's rows: `xfer_size`, `MB/sec`, `usec/xfer` ...
 */
export async function runContender(figure, contender, { directory, quick }) {
  const port = await freePort();
  const line = launch(contender, directory, figure.command);
  const sizes = quick ? [] : ['-S', 'all'];
  const start = (role, core) => {
    const { args, env } = figure.place(role, port);
    const host = role === 'client' ? [HOST] : [];
    const options = [`-E=${port}`, '-m', ...sizes, ...figure.args, ...args, ...host];
    return startSide([...line, ...options], core, env);
  };
  const server = start('server', 0);
  await listening(port, server);
  const client = start('client', 1);
  const timer = setTimeout(() => end([client, server]), TIMEOUT);
  try {
    const output = await client.succeeded;
    await server.succeeded;
    return rowsIn(output);
  } catch (error) {
    await Promise.race([server.over, new Promise((resolve) => setTimeout(resolve, END_TIMEOUT))]);
    throw error;
  } finally {
    clearTimeout(timer);
    end([client, server]);
  }
}

function end(sides) {
  for (const { child } of sides) if (child.exitCode === null) child.kill('SIGKILL');
}

function startSide(command, core, env = {}) {
  const line = notPinned ? command : ['taskset', '-c', String(core), ...command];
  const child = spawn(line[0], line.slice(1), { env: { ...process.env, ...env } });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr = (stderr + text).slice(-2000);
  });
  const over = once(child, 'close');
  const succeeded = over.then(([code, signal]) => {
    if (code === 0) return stdout;
    throw new Error(`${command.join(' ')}: ${signal ?? `exit ${code}`}\n${stderr.trim()}`);
  });
  succeeded.catch(() => {}); // the caller that awaits it gets the error
  return { child, over, succeeded };
}

/** A free port of this host. */
export async function freePort() {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Waits until the server listens, because a client of fabtests does not retry. A test connection would be mistaken
 * for the client, so this function reads the kernel's list of sockets.
 */
export async function listening(port, { child }) {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const socket = new RegExp(`:${hex} [0-9A-F]+:0000 0A `); // in the state TCP_LISTEN
  while (child.exitCode === null) {
    const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/net/${name}`, 'utf8'));
    if (tables.some((table) => socket.test(table))) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The rows of fabtests' YAML. */
function rowsIn(output) {
  const rows = [...output.matchAll(/^- \{ (.*) \}$/gm)].map(([, fields]) =>
    Object.fromEntries(
      fields.split(', ').map((field) => {
        const [name, value] = field.split(': ');
        return [name, Number(value)];
      }),
    ),
  );
  if (rows.length === 0) throw new Error(`no rows in ${JSON.stringify(output.slice(0, 200))}`);
  return rows;
}
