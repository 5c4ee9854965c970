// The hints of calls that fail because of a limit of the process or of the machine.
import { constants } from 'node:os';
import { expect, test } from 'vitest';
import { errnoByCode } from '../../dist/base/error-codes.js';
import { makeFabricError } from '../../dist/base/errors.js';

const { ENOSPC, EROFS, EFBIG } = constants.errno;
const { FI_EMFILE, FI_ENOMEM } = errnoByCode;

test.each([
  ['tcp', 'fi_endpoint', FI_EMFILE, '', 'ulimit -n'],
  ['', 'fi_fabric', FI_EMFILE, '', 'ulimit -n'],
  ['shm', 'fi_enable', FI_EMFILE, '', 'ulimit -n'],
  ['shm', 'fi_enable', ENOSPC, '', 'df /dev/shm'],
  ['shm', 'fi_enable', EROFS, '', 'mounted read-only'],
  ['shm', 'fi_enable', EFBIG, '', 'ulimit -f'],
  ['efa', 'fi_enable', FI_ENOMEM, '', 'ulimit -l'],
  ['efa', 'fi_eq_readerr', FI_ENOMEM, 'Failure to post internal receive buffers', 'ulimit -l'],
])('%s, %s, errno %i: %s', (provider, call, errno, text, hint) => {
  const error = makeFabricError(errno, call, text, provider);
  expect(error.hint).toContain(hint);
  expect(error.message).toContain(hint);
});

test.each([
  ['tcp', 'fi_send', FI_ENOMEM, ''],
  ['shm', 'fi_enable', ENOSPC, 'a text of this package'],
  ['shm', 'fi_sendmsg', EROFS, ''],
])('%s, %s, errno %i: %s has no hint', (provider, call, errno, text) => {
  expect(makeFabricError(errno, call, text, provider).hint).toBeUndefined();
});
