// Limits of memory registration with the efa provider: a registration over the limit fails with a
// FabricError, and succeeds after another region is closed.
import { version } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { runInline } from '../support/command.js';
import { withSoftefa } from '../support/softefa.js';

const MIB = 2 ** 20;
// 1.17 locks 74 MB of receive buffers and 37 MB of send buffers.
const PROVIDER_BUFFERS = 128 * MIB;

const PROGRAM = `
  import { open } from 'libfabric';
  const size = Number(process.env.SIZE);
  const ep = await open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA'] });
  const self = ep.av.insert(ep.address);
  const message = await ep.domain.allocate(8, ['FI_SEND']);
  const answer = await ep.domain.allocate(8, ['FI_RECV']);
  const exchangeMessage = () => Promise.all([ep.recv(answer), ep.send(message, self)]);
  await exchangeMessage();
  const regions = [];
  const register = async () => regions.push(await ep.domain.allocate(size, ['FI_REMOTE_READ']));
  let refusal;
  while (refusal === undefined) await register().catch((error) => { refusal = error; });
  const most = regions.length;
  await exchangeMessage(); // needs no new registration
  await regions.pop().close();
  await register();
  const again = await register().catch(({ code }) => code);
  const { name, code, syscall } = refusal;
  console.log(JSON.stringify({ name, code, syscall, most, again }));
  await ep.close();`;

const refused = {
  name: 'FabricError',
  code: 'FI_ENOMEM',
  syscall: 'fi_mr_reg',
  again: 'FI_ENOMEM',
};

describe('efa', () => {
  test('registers memory up to the memlock limit', () => {
    const device = { memlock: PROVIDER_BUFFERS + 32 * MIB } as const;
    const { status, stdout, stderr } = runInline(PROGRAM, {
      ...withSoftefa(device),
      SIZE: String(4 * MIB),
    });
    expect(status, stderr).toBe(0);
    expect(stderr).toMatch(
      /^softefa: registering \d+ bytes in addition to \d+ exceeds the limit .*\n$/,
    );
    const result = JSON.parse(stdout);
    expect(result).toMatchObject(refused);
    expect(result.most).toBeGreaterThanOrEqual(8);
    expect(result.most).toBeLessThan((PROVIDER_BUFFERS + 32 * MIB) / (4 * MIB));
  });

  test("registers regions up to the device's limit", () => {
    const env = { ...withSoftefa({ maxMr: 60 }), SIZE: '4096' };
    const { status, stdout, stderr } = runInline(PROGRAM, env);
    expect(status, stderr).toBe(0);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject(refused);
    expect(result.most).toBeGreaterThanOrEqual(40);
    expect(result.most).toBeLessThan(60);
  });

  // Each of its calls then takes 35 ms and more: it allocates and fills the buffers, in vain.
  test('an endpoint that may not lock its receive buffers reports few errors in a turn, so that other calls get the engine', (context) => {
    context.skip(version().major > 1, 'libfabric 2 locks them in open()');
    const program = `
      import { open } from 'libfabric';
      const ep = await open({ provider: 'efa', driver: 'manual', caps: ['FI_MSG'] });
      const codes = [];
      for (let i = 0; i < 64; i++) ep.recv(new Uint8Array(8)).catch(({ code }) => codes.push(code));
      const turn = () => { ep.domain.progress(); return new Promise(setImmediate); };
      await turn(); // posts them, and finds the endpoint broken
      const before = process.cpuUsage();
      await turn();
      const { user, system } = process.cpuUsage(before);
        console.log(codes.length, (user + system) / 1000);
      while (codes.length < 64) await turn();
      console.log(...new Set(codes));`;
    const { FI_EFA_RX_SIZE: _, ...env } = withSoftefa({ memlock: 60e6 });
    const { stdout } = runInline(program, env);
    const [turn = '', codes] = stdout.split('\n');
    const [errors = 0, milliseconds = 0] = turn.split(' ').map(Number);
    // If the event queue has reported before that the endpoint is broken, all end in one turn. Reading the errors of 64
    // receives would take 64 times 35 ms.
    if (errors >= 5) expect(milliseconds).toBeLessThan(1000);
    expect(codes).toBe('FI_ENOMEM');
  });

  test('open() fails if no memory may be locked', () => {
    const program = `
      import { open } from 'libfabric';
      await open({ provider: 'efa', caps: ['FI_MSG', 'FI_RMA'] }).catch(({ name, code }) => console.log(name, code));`;
    const { stdout } = runInline(program, withSoftefa({ memlock: 0 }));
    expect(stdout).toBe('FabricError FI_ENOMEM\n');
  });
});
