// What a runtime that is not supported gets: an error with a code, from imports that succeed.
import { getInfo, open } from '../../dist/index.js';
import '../../dist/net/index.js';
import { TransferEngine } from '../../dist/transfer/index.js';
import { expectCode, run } from './steps.mjs';

const CODE = 'ERR_UNSUPPORTED_PLATFORM';

await run({
  'getInfo()': () => expectCode(CODE, () => getInfo()),
  'open()': () => expectCode(CODE, () => open({ provider: 'shm' })),
  'open() with the loop': () => expectCode(CODE, () => open({ provider: 'shm', driver: 'loop' })),
  'TransferEngine.open()': () => expectCode(CODE, () => TransferEngine.open({ provider: 'shm' })),
});
