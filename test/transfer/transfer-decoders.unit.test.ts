// Addresses and tokens of hostile senders, who may have the secret.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeAddress, type EngineAddress, encodeAddress } from '../../dist/transfer/address.js';
import { type Kind, seal } from '../../dist/transfer/sealed.js';
import {
  decodeToken,
  encodeToken,
  grantOf,
  nativeGrantOf,
  type TokenContent,
} from '../../dist/transfer/token.js';
import { holds, resultOrRefusal } from '../support/properties.js';

const PAGE = 4096;

const identity = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const count = fc.maxSafeNat();
const small = fc.integer({ min: 0, max: 2 ** 30 });

const addresses: fc.Arbitrary<EngineAddress> = fc.record({
  id: identity,
  provider: fc.string(),
  rdma: fc.boolean(),
  rails: fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), {
    minLength: 1,
    maxLength: 64,
  }),
  process: fc.option(fc.record({ host: identity, pid: count, thread: count, started: count }), {
    nil: undefined,
  }),
  maps: fc.boolean(),
});

const rail = fc.record({ address: identity, key: identity });
const tokenRecords: fc.Arbitrary<TokenContent> = fc.record({
  access: fc.constantFrom('write' as const, 'read' as const),
  repeats: fc.boolean(),
  owner: identity,
  grantee: identity,
  offer: count,
  serial: count,
  before: count,
  expires: count,
  first: small,
  expected: small,
  planned: small,
  slice: fc.integer({ min: PAGE, max: 2 ** 31 }),
  pieces: fc
    .array(fc.tuple(count, count), { minLength: 1, maxLength: 20 })
    .map((pairs) => Float64Array.from(pairs.flat())),
  rails: fc
    .tuple(rail, fc.array(fc.option(rail, { nil: undefined }), { maxLength: 63 }))
    .map(([first, others]) => [first, ...others]),
  file: fc.option(fc.record({ fd: count, inode: identity, offset: count }), { nil: undefined }),
});

const tokens = tokenRecords.filter(({ serial, before }) => before < serial);

test('an address has the content that was sealed', () => {
  holds(
    fc.property(addresses, fc.string(), (address, secret) => {
      const decoded = decodeAddress(encodeAddress(address, secret), secret);
      const rails = decoded.rails.map((each) => new Uint8Array(each));
      expect({ ...decoded, rails }).toEqual(address);
    }),
  );
});

test('a token has the content that was sealed', () => {
  holds(
    fc.property(tokens, fc.string(), (token, secret) => {
      expect(decodeToken(encodeToken(token, secret), secret)).toEqual(token);
    }),
  );
});

test('arbitrary text is no address and no token', () => {
  holds(
    fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
      expect(resultOrRefusal(() => decodeAddress(text, ''))).toBeUndefined();
      expect(resultOrRefusal(() => decodeToken(text, ''))).toBeUndefined();
    }),
  );
});

test('a changed character is detected', () => {
  const text = fc.tuple(fc.nat(), fc.constantFrom(...'Aa0_-=+ é'));
  holds(
    fc.property(tokens, text, (token, [where, character]) => {
      const sealed = encodeToken(token, 'secret');
      const at = where % sealed.length;
      if (sealed[at] === character) return;
      const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
      expect(resultOrRefusal(() => decodeToken(changed, 'secret'))).toBeUndefined();
    }),
  );
});

// A few bytes of a valid content are replaced, added or removed, and the result is sealed.
const damaged = (kind: Kind, sealed: string, changes: readonly [number, number][]) => {
  const content = [...Buffer.from(sealed, 'base64url').subarray(2, -12)];
  for (const [where, value] of changes) {
    content.splice(where % (content.length + 1), value % 3, ...(value % 2 ? [value & 0xff] : []));
  }
  return seal(kind, Uint8Array.from(content), 'secret');
};
const changes = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 4 });

test('an address with any content is refused, or has rails with addresses', () => {
  holds(
    fc.property(addresses, changes, (address, edits) => {
      const text = damaged('address', encodeAddress(address, 'secret'), edits);
      const decoded = resultOrRefusal(() => decodeAddress(text, 'secret'));
      if (decoded === undefined) return;
      expect(decoded.rails.length).toBeGreaterThan(0);
      expect(decoded.rails.length).toBeLessThanOrEqual(64);
      for (const address of decoded.rails) expect(address.length).toBeGreaterThan(0);
    }),
  );
});

test('a token with any content is refused, or keeps to the limits that native code relies on', () => {
  holds(
    fc.property(tokens, changes, (token, edits) => {
      const text = damaged('token', encodeToken(token, 'secret'), edits);
      const decoded = resultOrRefusal(() => decodeToken(text, 'secret'));
      if (decoded === undefined) return;
      const grant = nativeGrantOf(grantOf(decoded, decoded.owner, decoded.grantee));
      expect(grant.slice).toBeGreaterThanOrEqual(PAGE);
      expect(grant.slice).toBeLessThanOrEqual(2 ** 31);
      expect(grant.first + grant.expected + grant.planned).toBeLessThanOrEqual(2 ** 32);
      expect(grant.targets.length).toBe(3 * decoded.rails.length);
      expect(grant.pieces.every((value) => Number.isSafeInteger(value) && value >= 0)).toBe(true);
      for (let i = 0; i < grant.pieces.length; i += 2) {
        const end = (grant.pieces[i] as number) + (grant.pieces[i + 1] as number);
        expect(end).toBeLessThanOrEqual(grant.span);
      }
    }),
  );
});

test('slices are not smaller than a page, so that a token cannot make a list that fills the memory', () => {
  holds(
    fc.property(tokens, fc.integer({ min: 0, max: PAGE - 1 }), (token, slice) => {
      const text = encodeToken({ ...token, slice }, 'secret');
      expect(resultOrRefusal(() => decodeToken(text, 'secret'))).toBeUndefined();
    }),
  );
});
