import { describe, expect, test } from 'vitest';
import { loopbackOfFile, type Refusal, refusalOf } from '../support/bad-input.js';

const loopback = loopbackOfFile();

const frames = (error: Refusal) =>
  (error.stack ?? '').split('\n').filter((line) => /^ {4}at /.test(line));

// biome-ignore lint/suspicious/noExplicitAny: the tests pass values that the types forbid
type Any = any;

const misuses: [call: string, run: (ep: Any, self: Any) => unknown][] = [
  ['send, refused by JavaScript', (ep, self) => ep.send(5, self)],
  ['post.send', (ep, self) => ep.post.send(5, self)],
  ['batch.writev', (ep, self) => ep.batch().writev(5, self)],
  ['av.insert, refused by C++', (ep) => ep.av.insert(new Uint8Array(3).fill(1))],
  ['domain.completionQueue', (ep) => ep.domain.completionQueue({ size: -1 })],
  ['domain.register', (ep) => ep.domain.register(5, ['FI_SEND'])],
  ['domain.allocate, refused by C++', (ep) => ep.domain.allocate(8, ['FI_SENT'])],
  ['endpoint.close', (ep) => ep.close({ timeout: -1 })],
  ['endpoint.getOption, refused by libfabric', (ep) => ep.getOption('FI_OPT_CM_DATA_SIZE')],
  ['a method of another object', (ep) => ep.send.call({})],
];

describe('the stack of a refused call starts at the line of the caller', () => {
  test.each(misuses)('%s', async (_call, run) => {
    const { error } = await refusalOf(function theCaller() {
      return run(loopback.ep, loopback.self);
    });
    expect(frames(error)[0]).toContain('bad-input-stacks.test.ts');
    expect(frames(error)[1]).toContain('theCaller');
  });
});

describe('the stack of a failure names the function that awaited it', () => {
  async function expectNamed(run: () => Promise<unknown>): Promise<void> {
    async function theAwaiter() {
      await run();
    }
    const { error } = await refusalOf(theAwaiter);
    expect(frames(error).join('\n')).toMatch(/at (async )?theAwaiter/);
  }

  test('an operation that fails', () =>
    expectNamed(async () => {
      const { ep, self } = loopback;
      const short = ep.recv(new Uint8Array(1));
      await ep.send(new Uint8Array(2), self);
      await short;
    }));

  test('a batch that fails', () =>
    expectNamed(async () => {
      const { ep, self } = loopback;
      const region = await ep.domain.allocate(8, ['FI_SEND']);
      const batch = ep.batch();
      batch.send(region, self);
      await region.close();
      await batch.submit();
    }));

  test('an allocation that fails', () =>
    expectNamed(async () => {
      await loopback.ep.domain.allocate(2 ** 53 - 1, ['FI_SEND']);
    }));

  test('a service that cannot be inserted', () =>
    expectNamed(async () => {
      await loopback.ep.av.insertService('127.0.0.1', 7471);
    }));
});
