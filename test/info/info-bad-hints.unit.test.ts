import { getInfo, type Hints } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { NOT_PORTS } from '../support/services.js';

const query = (hints: unknown) => getInfo(hints as Hints);

const TYPE = ['TypeError', 'ERR_INVALID_ARG_TYPE'] as const;
const VALUE = ['TypeError', 'ERR_INVALID_ARG_VALUE'] as const;
const RANGE = ['RangeError', 'ERR_OUT_OF_RANGE'] as const;

type Kind = readonly [name: string, code: string];

const wrong: [kind: Kind, hints: unknown, message: string][] = [
  ...[7, 'shm', true, 7n, Symbol('x'), () => {}, [], Buffer.alloc(4)].map(
    (hints): [Kind, unknown, string] => [TYPE, hints, 'hints must be an object'],
  ),
  [VALUE, { capz: [] }, "hints has no member 'capz'; did you mean 'caps'"],
  [VALUE, { nic: {} }, "hints has no member 'nic'"],
  [VALUE, { txAttr: { sise: 1 } }, "hints.txAttr has no member 'sise'; did you mean 'size'"],
  [VALUE, { fabricAttr: { apiVersion: '1.17' } }, "hints.fabricAttr has no member 'apiVersion'"],
  [VALUE, { ['x'.repeat(1 << 20)]: 1 }, "hints has no member 'xxx"],
  [TYPE, { txAttr: 5 }, 'hints.txAttr must be an object, got 5'],
  [TYPE, { epAttr: null }, 'hints.epAttr must be an object, got null'],
  [TYPE, { domainAttr: [] }, 'hints.domainAttr must be an object, got an array'],

  [TYPE, { caps: 'FI_MSG' }, "hints.caps must be an array of flag names, got 'FI_MSG'"],
  [TYPE, { caps: null }, 'hints.caps must be an array'],
  [TYPE, { caps: new Set(['FI_MSG']) }, 'hints.caps must be an array'],
  [TYPE, { caps: ['FI_MSG', 2] }, 'hints.caps[1] must be a string, got 2'],
  [TYPE, { caps: new Array(4_000_000_000) }, 'hints.caps[0] must be a string, got undefined'],
  [VALUE, { caps: ['FI_MSGS'] }, "hints.caps[0]: 'FI_MSGS' is not known; did you mean 'FI_MSG'"],
  [VALUE, { caps: ['FI_CONTEXT'] }, "hints.caps[0]: 'FI_CONTEXT' is not known"],
  [VALUE, { mode: ['FI_MSG'] }, "hints.mode[0]: 'FI_MSG' is not known"],
  [VALUE, { caps: ['bit 64'] }, "'bit 64' is not known"],
  [VALUE, { caps: ['bit -1'] }, "'bit -1' is not known"],
  [VALUE, { caps: ['bit 99999999999999999999'] }, 'is not known'],
  [VALUE, { caps: ['bit '] }, 'is not known'],
  [VALUE, { caps: [''] }, "'' is not known"],
  [VALUE, { caps: ['FI_MSG\0'] }, 'is not known'],
  [VALUE, { caps: ['F'.repeat(1 << 20)] }, 'hints.caps[0] has 1048576 bytes, which is too long'],
  [VALUE, { flags: ['bit 58'] }, 'hints.flags has a bit that fi_getinfo(3) does not define'],
  [VALUE, { domainAttr: { mrMode: ['bit 40'] } }, 'hints.domainAttr.mrMode has bits above bit 30'],

  [TYPE, { addrFormat: 3 }, 'hints.addrFormat must be a string, got 3'],
  [VALUE, { addrFormat: 'FI_ADDR_EFAA' }, "did you mean 'FI_ADDR_EFA'"],
  [VALUE, { addrFormat: 'FI_ADDR_0x' }, 'is not known'],
  [VALUE, { addrFormat: 'FI_ADDR_0x1ffffffff' }, 'is not known'],
  [VALUE, { addrFormat: 'FI_ADDR_0xzz' }, 'is not known'],
  [VALUE, { epAttr: { type: 'FI_RDM' } }, "did you mean 'FI_EP_RDM'"],
  [VALUE, { domainAttr: { threading: 'FI_THREAD_NONE' } }, 'hints.domainAttr.threading'],

  ...[-1, -0.5, 1.5, Number.NaN, Infinity, 2 ** 53, 2 ** 53 + 2, -(2n ** 63n), 2n ** 64n].map(
    (size): [Kind, unknown, string] => [
      RANGE,
      { txAttr: { size } },
      'hints.txAttr.size must be an integer from 0 to 18446744073709551615, got',
    ],
  ),
  ...['64', null, {}, [64], true].map((size): [Kind, unknown, string] => [
    TYPE,
    { rxAttr: { size } },
    'hints.rxAttr.size must be an integer (number or bigint), got',
  ]),
  [RANGE, { epAttr: { protocolVersion: 2 ** 32 } }, 'from 0 to 4294967295, got 4294967296'],
  [VALUE, { epAttr: { txCtxCnt: 'FI_SHARED' } }, "must be a count or 'FI_SHARED_CONTEXT'"],
  [RANGE, { epAttr: { rxCtxCnt: -1 } }, 'hints.epAttr.rxCtxCnt must be an integer'],
  [RANGE, { epAttr: { memTagFormat: -1n } }, 'hints.epAttr.memTagFormat must be an integer'],

  [TYPE, { node: 127 }, 'hints.node must be a string, got 127'],
  [TYPE, { node: null }, 'hints.node must be a string, got null'],
  [VALUE, { node: '127.0.0.1\0.evil' }, 'hints.node contains a NUL character'],
  [VALUE, { node: 'a'.repeat(1025) }, 'hints.node is a string of 1025 bytes, more than 1024'],
  [TYPE, { service: 7471 }, 'hints.service must be a string, got 7471'],
  ...NOT_PORTS.map((service): [Kind, unknown, string] => [
    RANGE,
    { service },
    `hints.service must be a port from 0 to 65535, or the name of a service, got '${service}'`,
  ]),
  [VALUE, { fabricAttr: { provName: 's\0hm' } }, 'hints.fabricAttr.provName contains a NUL'],
  [VALUE, { domainAttr: { name: 'é'.repeat(513) } }, 'hints.domainAttr.name is a string of 1026'],

  ...['', '1', '1.', '.17', '1.17.0', '1.x', '-1.17', '1.70000', ' 1.17'].map(
    (apiVersion): [Kind, unknown, string] => [
      VALUE,
      { apiVersion },
      `hints.apiVersion must be 'major.minor', got '${apiVersion}'`,
    ],
  ),
  [TYPE, { apiVersion: 1.17 }, 'hints.apiVersion must be a string, got 1.17'],
  [RANGE, { apiVersion: '1.4' }, 'hints.apiVersion must be from 1.5 to '],
  [RANGE, { apiVersion: '99.0' }, 'hints.apiVersion must be from 1.5 to '],
  [VALUE, { fabricAttr: { provVersion: 'new' } }, 'hints.fabricAttr.provVersion must be'],

  [TYPE, { srcAddr: '127.0.0.1' }, "hints.srcAddr must be a Uint8Array, got '127.0.0.1'"],
  [TYPE, { srcAddr: new Uint16Array(8) }, 'hints.srcAddr must be a Uint8Array, got an object'],
  [TYPE, { srcAddr: new DataView(new ArrayBuffer(16)) }, 'hints.srcAddr must be a Uint8Array'],
  [VALUE, { srcAddr: new Uint8Array() }, 'hints.srcAddr is empty'],
  [VALUE, { srcAddr: new Uint8Array(4097) }, 'hints.srcAddr has more than 4096 bytes'],
  [VALUE, { srcAddr: new Uint8Array(16) }, 'hints.srcAddr has no address format; give the format'],
  [
    VALUE,
    { addrFormat: 'FI_SOCKADDR_IN', srcAddr: new Uint8Array([2, 0, 0]) },
    'hints.srcAddr has 3 bytes; its format has 16',
  ],
  [
    VALUE,
    { addrFormat: 'FI_SOCKADDR_IN', srcAddr: new Uint8Array([10, ...new Array(27).fill(0)]) },
    'hints.srcAddr has address family 10, which its address format does not allow',
  ],
  [
    VALUE,
    { addrFormat: 'FI_SOCKADDR', destAddr: new Uint8Array([0, 10, ...new Array(14).fill(0)]) },
    'hints.destAddr has address family 2560, which its address format does not allow',
  ],
  [
    VALUE,
    { addrFormat: 'FI_SOCKADDR', destAddr: new Uint8Array([10, 0, ...new Array(14).fill(0)]) },
    'hints.destAddr has 16 bytes; its format has 28',
  ],
  [VALUE, { addrFormat: 'FI_ADDR_EFA', destAddr: new Uint8Array(31) }, 'its format has 32'],
  [
    VALUE,
    { addrFormat: 'FI_ADDR_STR', srcAddr: Buffer.from('fi_shm://x') },
    'hints.srcAddr is a string address (FI_ADDR_STR) without its closing NUL',
  ],
  [TYPE, { epAttr: { authKey: 'secret' } }, 'hints.epAttr.authKey must be a Uint8Array'],
];

describe('invalid hints', () => {
  const cases = wrong.map(([[name, code], hints, message]) => ({ name, code, hints, message }));

  test.each(cases)('$code: $message', ({ name, code, hints, message }) => {
    let error: unknown;
    try {
      query(hints);
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ name, code });
    expect((error as Error).message).toContain(message);
  });

  test('are reported at the line of the caller', () => {
    try {
      query({ caps: 1 });
    } catch (error) {
      expect((error as Error).stack?.split('\n')[1]).toContain('info-bad-hints.unit.test');
    }
    expect.assertions(1);
  });

  test('rethrow the error of a getter', () => {
    const boom = new Error('boom');
    const hints = {
      get caps(): never {
        throw boom;
      },
    };
    expect(() => query(hints)).toThrow(boom);
    expect(() =>
      query(
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw boom;
            },
          },
        ),
      ),
    ).toThrow(boom);
  });

  test('with a detached buffer are refused', () => {
    const bytes = new Uint8Array(16);
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    expect(() => query({ addrFormat: 'FI_SOCKADDR_IN', srcAddr: bytes })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
    );
  });
});

test('300 random hints return an array or throw an error with a code', () => {
  let seed = 17;
  const next = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed >>> 8;
  };
  const pick = <T>(list: readonly T[]): T => list[next() % list.length]!;
  const values = [
    undefined,
    null,
    0,
    1,
    -1,
    2 ** 31,
    2 ** 53,
    64n,
    2n ** 63n,
    2n ** 64n - 1n,
    Number.NaN,
    '',
    '127.0.0.1',
    '7471',
    'shm',
    'lo',
    'FI_EP_RDM',
    'FI_EP_0xffffffff',
    'FI_SOCKADDR_IN',
    '1.17',
    'FI_SHARED_CONTEXT',
    [],
    ['FI_MSG'],
    ['bit 3', 'bit 63'],
    ['FI_CONTEXT'],
    ['FI_ORDER_SAS'],
    new Uint8Array(8),
    new Uint8Array([2, 0, ...new Array(30).fill(0)]),
    {},
  ];
  const attrs = {
    txAttr: ['caps', 'mode', 'opFlags', 'msgOrder', 'injectSize', 'size', 'iovLimit', 'tclass'],
    rxAttr: ['caps', 'mode', 'opFlags', 'totalBufferedRecv', 'size', 'iovLimit'],
    epAttr: ['type', 'protocol', 'maxMsgSize', 'memTagFormat', 'txCtxCnt', 'rxCtxCnt', 'authKey'],
    domainAttr: [
      'name',
      'threading',
      'mrMode',
      'mrKeySize',
      'cqDataSize',
      'cqCnt',
      'caps',
      'authKey',
    ],
    fabricAttr: ['name', 'provName', 'provVersion'],
  };
  const top = ['caps', 'mode', 'addrFormat', 'srcAddr', 'destAddr', 'service', 'flags'];
  for (let round = 0; round < 300; round++) {
    const hints: Record<string, unknown> = {};
    for (let i = next() % 3; i > 0; i--) hints[pick(top)] = pick(values);
    for (const [attr, keys] of Object.entries(attrs)) {
      if (next() % 3 === 0) hints[attr] = { [pick(keys)]: pick(values) };
    }
    hints.fabricAttr ??= { provName: pick(['shm', 'udp', 'tcp', 'sockets']) };
    try {
      expect(query(hints)).toBeInstanceOf(Array);
    } catch (error) {
      expect(error).toHaveProperty('code', expect.stringMatching(/^(ERR_|FI_E)/));
    }
  }
});
