// A multi-receive buffer that is shorter than FI_OPT_MIN_MULTI_RECV.
import '../support/softefa.js';
import { type Domain, open, version } from 'libfabric';
import { describe, expect, onTestFinished, test } from 'vitest';
import { expectBytes, pattern } from '../support/bytes.js';
import { combinations } from '../support/cases.js';

const SHORT = 64;

const { major, minor } = version();
/** Whether efa refuses such a buffer. Since 1.19 this package posts it as receives of one message each. */
const efaRefuses = major === 1 && minor < 19;

describe.each(combinations)('$provider, $driver driver', ({ provider, driver }) => {
  const refuses = provider === 'efa' && efaRefuses;

  async function opened() {
    const node = provider === 'tcp' && { node: '127.0.0.1' };
    const ep = await open({ provider, driver, caps: ['FI_MSG', 'FI_MULTI_RECV'], ...node });
    onTestFinished(() => ep.close());
    return ep;
  }

  /** Sends a message to the endpoint itself and takes it from a short buffer. */
  async function receive(ep: Awaited<ReturnType<typeof opened>>) {
    const next = ep.multiRecv(new Uint8Array(SHORT)).next();
    const until = (ep.domain as Domain).until(ep.send(pattern(16), ep.av.insert(ep.address)));
    const received = await ep.domain.until(next);
    await until;
    return received;
  }

  test('is refused with the name of the option, its value and what to do', async (context) => {
    context.skip(!refuses, 'the provider receives into short buffers');
    const ep = await opened();
    const least = ep.getOption('FI_OPT_MIN_MULTI_RECV');
    const stream = ep.multiRecv(new Uint8Array(SHORT));
    await expect(ep.domain.until(stream.next())).rejects.toMatchObject({
      code: 'FI_EINVAL',
      syscall: 'fi_recvmsg',
      message: expect.stringContaining(
        `(the buffer has ${SHORT} bytes, fewer than FI_OPT_MIN_MULTI_RECV (${least}))`,
      ),
      hint: expect.stringContaining(`give multiRecv() at least ${least} bytes, or `),
    });
  });

  test('receives messages after the option was lowered, as the hint says', async () => {
    const ep = await opened();
    ep.setOption('FI_OPT_MIN_MULTI_RECV', SHORT);
    const { value } = await receive(ep);
    expectBytes(value.bytes, pattern(16));
  });

  test('receives a message, and is then released', async (context) => {
    context.skip(refuses, 'the provider refuses short buffers');
    const ep = await opened();
    const { value, done } = await receive(ep);
    expect(done).toBe(false);
    expectBytes(value.bytes, pattern(16));
  });
});

test('a queue pair that has failed is still reported as such if the buffer is long enough', async () => {
  const { withReason } = await import('../../dist/endpoint/short-buffer.js');
  const failure = { errno: 22, syscall: 'fi_recvmsg', text: '', provErrno: 0 };
  const endpoint = { getOption: () => SHORT } as never;
  expect(withReason(failure, endpoint, SHORT)).toBe(failure);
  expect(withReason({ ...failure, syscall: 'fi_cq_readerr' }, endpoint, 1).text).toBe('');
});
