// The table of timeouts in docs/transfer.md has the values of the constants.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, textOf } from '../support/documents.js';

/** The beginning of each row with a default, the file of its constant, and the text around its value. */
const SOURCES: readonly (readonly [string, string, RegExp])[] = [
  ['`remote.write()`', 'src/transfer/transfer-options.ts', /const TIMEOUT = ([\d_]+)/],
  ['an offer, until', 'src/transfer/offering.ts', /const EXPIRES = ([\d_]+)/],
  ['a stream that waits', 'src/transfer/streams/stream-options.ts', /const TIMEOUT = ([\d_]+)/],
  ['the token of `engine', 'src/transfer/streams/stream-options.ts', /const EXPIRES = ([\d_]+)/],
  ['`engine.join()`', 'src/transfer/membership.ts', /const TIMEOUT = ([\d_]+)/],
  ['an entry of a directory', 'src/base/directory.ts', /DEFAULT_TTL = ([\d_]+)/],
  ['a client of `transferServer', 'src/http/clients.ts', /const KEEP = ([\d_]+)/],
  ['an answer to a request', 'src/objects/client-options.ts', /const TIMEOUT = ([\d_]+)/],
  ['a request to an object server', 'src/objects/fabric.ts', /const WAIT = ([\d_]+)/],
  ['`remote.notify()`', 'src/transfer/outbox.ts', /const CONFIRMATION_TIMEOUT = ([\d_]+)/],
  ['a message of the', 'native/transfer/transfer_engine.h', /seconds kMessageTimeout\{(\d+)\}/],
  ['a peer that is dead', 'src/transfer/liveness.ts', /const LIVENESS = ([\d_]+)/],
  ['a peer to which all', 'src/transfer/liveness.ts', /const CUT_TIMEOUT = ([\d_]+)/],
  ['a rail without', 'src/transfer/settings.ts', /const STALL = ([\d_]+)/],
  ['an offer that has', 'src/transfer/offer.ts', /const ARRIVAL_TIMEOUT = ([\d_]+)/],
  ['the same, until its', 'src/transfer/offer.ts', /const WITHDRAW_DELAY = ([\d_]+)/],
  ['`engine.close()`, for', 'src/transfer/peers.ts', /const FLUSH_TIMEOUT = ([\d_]+)/],
  ['`remote.close()`, for', 'src/transfer/peers.ts', /const FLUSH_TIMEOUT = ([\d_]+)/],
  [
    '`engine.close()`, until',
    'src/transfer/engine-closing.ts',
    /const CLOSE_MESSAGE_TIMEOUT = (\d+)/,
  ],
  ['the end of a process', 'src/transfer/peers.ts', /const FLUSH_TIMEOUT = ([\d_]+)/],
  ['`endpoint.close()`', 'src/endpoint/close-options.ts', /timeout = ([\d_]+)/],
  ['`batch.run()`', 'src/endpoint/batch.ts', /const RUN_TIMEOUT = ([\d_]+)/],
  ['a call of the provider', 'native/engine/call_limit.h', /uint64_t\{([\d']+)\} : std::min/],
  ['`connect()`', 'src/net/connect.ts', /const CONNECT_TIMEOUT = ([\d_]+)/],
  ['servers of `libfabric/net`', 'src/net/connect.ts', /const AGREEMENT_TIMEOUT = ([\d_]+)/],
  ["a socket's peer", 'src/net/port.ts', /limit: ([\d_]+) \}/],
  ['the same over', 'src/net/control-watch.ts', /const LOSS = ([\d_]+)/],
];

const [, rest = ''] = textOf('docs/transfer.md').split('\n## Timeouts of the package\n');
const [section = ''] = rest.split('\n## ');
const rows = [...section.matchAll(/^\| (\S.*?) +\| ([\d,]+) +\|/gm)].map(
  ([, what = '', value = '']) => ({ what, value: Number(value.replace(',', '')) }),
);

test.each(SOURCES)('%s', (what, file, pattern) => {
  const [row, ...others] = rows.filter((each) => each.what.startsWith(what));
  expect(others).toEqual([]);
  const [, text = ''] = pattern.exec(readFileSync(join(root, file), 'utf8')) ?? [];
  const unit = /seconds k/.test(pattern.source) ? 1000 : 1;
  expect(row?.value).toBe(Number(text.replace(/[_']/g, '')) * unit);
});

test('each row with a value has a constant', () => expect(rows.length).toBe(SOURCES.length));
