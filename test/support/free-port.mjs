import { once } from 'node:events';
import { createServer } from 'node:net';

// Below the ephemeral ports of the kernel (32768 to 60999 by default).
const FIRST = 10_000;
const COUNT = 20_000;

// Each claim reserves a port until this process ends. All tests of this machine see it.
const claims = [];

/** A TCP port of 127.0.0.1 without a listener. No other test takes it while this process runs. */
export async function freePort() {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    const claim = createServer().unref();
    if (!(await listens(claim, `\0libfabric-test-port-${port}`))) continue;
    claims.push(claim);
    const probe = createServer();
    if (!(await listens(probe, port))) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}

async function listens(server, at) {
  server.listen(typeof at === 'string' ? { path: at } : { port: at, host: '127.0.0.1' });
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false; // another process has it
  }
}
