import { describe, expect, test } from 'vitest';
import { call } from '../support/call.js';

describe('long options, as getopt_long(3) has them', () => {
  test('a beginning that one option has is this option', async () => {
    const { status, stdout } = await call('strerror', '--js', '22');
    expect(JSON.parse(stdout)).toMatchObject([{ code: 'FI_EINVAL' }]);
    expect(status).toBe(0);
  });

  test('a beginning of several options is refused, and the error names them', async () => {
    const { status, stderr } = await call('rma-bw', '--p', 'x');
    expect(stderr).toMatch(/^error: option '--p' is ambiguous: (--\S+, )+--\S+\n$/);
    expect(status).not.toBe(0);
  });

  test('an exact name is itself, although others begin with it', async () => {
    const { stderr } = await call('stats', '--device', 'no-such-device');
    expect(stderr).toMatch(/no-such-device|no RDMA device/);
  });

  test('another option is refused', async () => {
    const { status, stderr } = await call('strerror', '--nothing', '22');
    expect(stderr).toMatch(/^error: unknown option '--nothing'/);
    expect(status).not.toBe(0);
  });
});

test('a benchmark that the provider does not offer ends with the exit code of fabtests, 61', async () => {
  const { status, stderr } = await call('rdm-pingpong', '-p', 'verbs');
  expect(stderr).toMatch(/^FI_ENODATA: .*fi_getinfo/);
  expect(status).toBe(61);
});
