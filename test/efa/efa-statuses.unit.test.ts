// The table of the efa provider's error numbers.
import { type EfaStatus, efaStatus } from 'libfabric/efa';
import { describe, expect, test } from 'vitest';
import { efaNumbers } from '../../dist/base/efa-statuses.js';

// The numbers of efa_errno.h by the release that added them, and their names in that release.
const device1 = `OK FLUSHED LOCAL_ERROR_QP_INTERNAL_ERROR LOCAL_ERROR_INVALID_OP_TYPE
  LOCAL_ERROR_INVALID_AH LOCAL_ERROR_INVALID_LKEY LOCAL_ERROR_BAD_LENGTH REMOTE_ERROR_BAD_ADDRESS
  REMOTE_ERROR_ABORT REMOTE_ERROR_BAD_DEST_QPN REMOTE_ERROR_RNR REMOTE_ERROR_BAD_LENGTH
  REMOTE_ERROR_BAD_STATUS LOCAL_ERROR_UNRESP_REMOTE`.split(/\s+/);
const own1 = `OTHER DEPRECATED_PKT_TYPE INVALID_PKT_TYPE UNKNOWN_PKT_TYPE PKT_POST PKT_SEND
  PKT_PROC_MSGRTM PKT_PROC_TAGRTM PKT_ALREADY_PROCESSED OOM MR_DEREG RX_ENTRY_COPY
  RX_ENTRIES_EXHAUSTED TX_ENTRIES_EXHAUSTED AV_INSERT RMA_ADDR INTERNAL_RX_BUF_POST PEER_HANDSHAKE
  WR_POST_SEND RTM_MISMATCH READ_POST RDMA_READ_POST INVALID_DATATYPE WRITE_SEND_COMP
  WRITE_RECV_COMP DGRAM_CQ_READ SHM_INTERNAL_ERROR WRITE_SHM_CQ_ENTRY`.split(/\s+/);

const numbered = (names: string[], first: number) =>
  names.map((name, i) => [first + i, name] as const);
const DEVICE = 'EFA_IO_COMP_STATUS_';
const OWN = 'FI_EFA_ERR_';

// [major, minor, prefix, changes]: the names that the release adds or changes.
type Change = readonly [number, string];
const releases: readonly [number, number, string, readonly Change[]][] = [
  [1, 17, 'FI_EFA_', [...numbered(device1, 0), ...numbered(own1, 4096)]],
  [
    1,
    19,
    'FI_EFA_',
    [
      [4107, 'RXE_COPY'],
      [4108, 'RXE_POOL_EXHAUSTED'],
      [4109, 'TXE_POOL_EXHAUSTED'],
    ],
  ],
  [1, 21, DEVICE, [[4124, 'ESTABLISHED_RECV_UNRESP']]],
  [
    1,
    22,
    DEVICE,
    [
      [3, 'LOCAL_ERROR_UNSUPPORTED_OP'],
      [14, 'REMOTE_ERROR_UNKNOWN_PEER'],
    ],
  ],
  [
    2,
    0,
    DEVICE,
    [
      [15, 'LOCAL_ERROR_UNREACH_REMOTE'],
      [4125, 'INVALID_PKT_TYPE_ZCPY_RX'],
      [4126, 'UNESTABLISHED_RECV_UNRESP'],
    ],
  ],
  [2, 5, DEVICE, [[18, 'REMOTE_ERROR_FEATURE_MISMATCH']]],
  [2, 7, DEVICE, [[4127, 'PEER_ABORTED']]],
];

const known = new Map<number, string>();

describe.each(releases)('libfabric %i.%i', (major, minor, prefix, changes) => {
  for (const [number, name] of changes) known.set(number, name);
  const names = [...known];

  test.each(names)('%i has its name in this release', (number, name) => {
    const status = efaStatus(number, { major, minor }) as EfaStatus;
    expect(status.number).toBe(number);
    expect(status.name).toBe((number < 4096 ? prefix : OWN) + name);
    expect(status.text).toMatch(/^[A-Z]/);
  });
});

test('every number comes from a release, and every failure has a hint', () => {
  const numbers = new Set(efaNumbers().values());
  expect([...numbers].sort((a, b) => a - b)).toEqual([...known.keys()].sort((a, b) => a - b));
  for (const number of numbers) {
    const { hint } = efaStatus(number) as EfaStatus;
    if (number === 0) expect(hint).toBeUndefined();
    else expect(hint, String(number)).toMatch(/\w{3}/);
  }
});

test('numbers are found by names of all releases, with and without prefix', () => {
  const numbers = efaNumbers();
  for (const name of ['REMOTE_ERROR_RNR', `${DEVICE}REMOTE_ERROR_RNR`, 'FI_EFA_REMOTE_ERROR_RNR']) {
    expect(numbers.get(name)).toBe(10);
  }
  for (const name of ['RX_ENTRY_COPY', 'FI_EFA_ERR_RXE_COPY']) expect(numbers.get(name)).toBe(4107);
});

test.each([16, 17, 19, 4095, 4128, -1, -125, 1.5])(
  '%d is not an error of any release',
  (number) => {
    expect(efaStatus(number)).toBeUndefined();
  },
);

test('temporary errors are retryable, permanent ones are not', () => {
  const retryable = [...known.keys()].filter((number) => efaStatus(number)?.retryable);
  expect(retryable).toEqual(expect.arrayContaining([10, 13, 4124]));
  for (const number of [5, 7, 9, 14, 15, 4112, 4126]) expect(retryable).not.toContain(number);
});

test('an unresponsive peer has one status before 2.0; since 2.0 a closed security group has another', () => {
  const security = /security group.*0\.0\.0\.0\/0/;
  expect(efaStatus(13, { major: 1, minor: 22 })?.hint).toMatch(security);
  expect(efaStatus(13, { major: 2, minor: 0 })?.hint).not.toMatch(security);
  expect(efaStatus(15)?.hint).toMatch(security);
  expect(efaStatus(4126)?.hint).toMatch(security);
});
