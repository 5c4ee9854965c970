import { readFileSync } from 'node:fs';
import { errnoByCode, FabricError } from 'libfabric';
import { describe, expect, test } from 'vitest';
import * as errors from '../../dist/base/errors.js';
import { native } from '../../dist/contract/native.js';

describe('FabricError', () => {
  test('has a message like the system errors of Node.js', () => {
    const error = new FabricError(265, 'fi_cq_readerr');
    expect(error.message).toBe('FI_ETRUNC: Truncation error, fi_cq_readerr');
    expect(String(error)).toBe('FabricError: FI_ETRUNC: Truncation error, fi_cq_readerr');
    expect({ ...error }).toEqual({ code: 'FI_ETRUNC', errno: 265, syscall: 'fi_cq_readerr' });
    expect(error).toBeInstanceOf(Error);
  });

  test("has the provider's error, a hint and a cause", () => {
    const cause = new Error('cause');
    const error = new FabricError(110, 'fi_cq_readerr', {
      provErrno: 4126,
      provMessage: 'unreachable',
      hint: 'open the security group to itself',
      cause,
    });
    expect(error.message).toBe(
      'FI_ETIMEDOUT: Connection timed out, fi_cq_readerr (unreachable); open the security group to itself',
    );
    expect(error).toMatchObject({ provErrno: 4126, provMessage: 'unreachable', cause });
    expect(error.hint).toBe('open the security group to itself');
  });

  test.each([
    [265, 'Truncation error', 'the text of the error itself'],
    [11, 'Resource temporarily unavailable', 'the state of a socket'],
    [115, 'Operation now in progress', 'the state of a socket'],
  ])('does not repeat provErrno %d, %j: %s', (provErrno, provMessage) => {
    const error = new FabricError(265, 'fi_cq_readerr', { provErrno, provMessage });
    expect(error.message).toBe('FI_ETRUNC: Truncation error, fi_cq_readerr');
    expect(error).toMatchObject({ provErrno, provMessage });
  });

  test('has the text of a status that has a name, whatever its number', () => {
    const status = { provErrno: 11, provCode: 'REMOTE_ERROR_ABORT', provMessage: 'aborted' };
    expect(new FabricError(5, 'fi_cq_readerr', status).message).toContain('(aborted)');
  });

  test('has no properties without a value', () => {
    const error = new FabricError(22, 'fi_domain', { hint: undefined });
    for (const key of ['provErrno', 'provMessage', 'hint', 'cause'])
      expect(error).not.toHaveProperty(key);
  });

  test('is recognized across copies of the package by its brand', () => {
    const copy = Object.assign(new Error(), { [Symbol.for('libfabric.FabricError')]: true });
    expect(FabricError.is(copy)).toBe(true);
    expect(FabricError.is(new FabricError(5, 'fi_cq_read'))).toBe(true);
    for (const value of [new Error(), null, undefined, 'FI_EIO', { code: 'FI_EIO' }]) {
      expect(FabricError.is(value)).toBe(false);
    }
  });

  test('has a stack that starts at the caller', () => {
    const helper = () => new FabricError(5, 'fi_cq_read', {}, helper);
    expect(helper().stack?.split('\n')[1]).toContain('errors-fabric-error.unit.test');
    expect(helper().stack).not.toContain('helper');
  });

  test('has the system name of an error that libfabric does not name', () => {
    expect(new FabricError(17, 'fi_mr_reg').code).toBe('EEXIST');
    expect(new FabricError(9999, 'fi_mr_reg').message).toBe(
      'FI_ERRNO_9999: Unknown error, fi_mr_reg',
    );
  });

  test('has no frame of makeFabricError() in its stack', () => {
    const error = errors.makeFabricError(16, 'fi_close', '3 endpoints are open');
    expect(error.message).toBe(
      'FI_EBUSY: Device or resource busy, fi_close (3 endpoints are open)',
    );
    expect(error.stack).not.toContain('makeFabricError');
  });
});

describe('the table of errors', () => {
  test('has every name of fi_errno.h with its number', (context) => {
    let text = '';
    try {
      text = readFileSync('/usr/include/rdma/fi_errno.h', 'utf8');
    } catch {
      return context.skip('the headers of libfabric are not installed');
    }
    const own = [...text.matchAll(/^\s+(FI_E\w+)\s*=\s*(\d+),/gm)];
    expect(own.length).toBeGreaterThan(10);
    for (const [, code, errno] of own) expect(errnoByCode).toHaveProperty(code!, Number(errno));
    const mapped = [...text.matchAll(/^#define\s+(FI_E\w+)\s+E\w+/gm)].map((match) => match[1]!);
    for (const code of mapped) {
      if (code !== 'FI_EWOULDBLOCK') expect(errnoByCode).toHaveProperty(code);
    }
  });

  test('has the texts of fi_strerror(3)', () => {
    for (const errno of Object.values(errnoByCode)) {
      const text = native.strerror(errno);
      // An older libfabric has no text for errors of newer releases.
      if (errno >= 270 && text === native.strerror(256)) continue;
      expect(new FabricError(errno, 'x').message).toContain(`: ${text}, x`);
    }
  });
});

describe('errors of invalid calls', () => {
  test.each([
    [
      errors.invalidArgType('peer', 'a Peer', 7),
      TypeError,
      'ERR_INVALID_ARG_TYPE',
      'peer must be a Peer, got 7',
    ],
    [
      errors.invalidArgValue('buffer', 'is detached'),
      TypeError,
      'ERR_INVALID_ARG_VALUE',
      'buffer is detached',
    ],
    [
      errors.outOfRange('tag', 'from 0 to 5', 6n),
      RangeError,
      'ERR_OUT_OF_RANGE',
      'tag must be from 0 to 5, got 6n',
    ],
    [errors.closed('Endpoint'), Error, 'ERR_CLOSED', 'Endpoint is closed'],
  ])('%s', (error, type, code, message) => {
    expect(error).toBeInstanceOf(type);
    expect(error.code).toBe(code);
    expect(error.message).toBe(message);
    expect(error.stack?.split('\n')[1]).toContain('errors-fabric-error.unit.test');
  });

  test.each([
    ['a\nb', "'a\nb'"],
    ['x'.repeat(100), 'a string of 100 characters'],
    [-0, '-0'],
    [10n ** 40n, 'a bigint past 64 bits'],
    [null, 'null'],
    [[], 'an array'],
    [{}, 'an object'],
    [() => {}, 'a function'],
    [Symbol('s'), 'a symbol'],
    [Object.create(null), 'an object'],
  ])('describeValue() is short for any value', (value, text) => {
    expect(errors.describeValue(value)).toBe(text);
  });
});
