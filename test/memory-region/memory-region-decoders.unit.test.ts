// Descriptors of regions from hostile peers.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describedRegion, encodeDescriptor } from '../../dist/memory/remote-region.js';
import { holds, resultOrRefusal } from '../support/properties.js';

const bits64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const regions = fc
  .record({ key: bits64, address: bits64, length: fc.maxSafeNat() })
  .filter(({ address, length }) => address + BigInt(length) <= 2n ** 64n);

test('a descriptor has the values of the region', () => {
  holds(
    fc.property(regions, (region) => {
      expect(describedRegion(encodeDescriptor(region))).toEqual(region);
      expect(describedRegion(region)).toEqual(region);
    }),
  );
});

test('arbitrary bytes are no descriptor', () => {
  holds(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      expect(resultOrRefusal(() => describedRegion(bytes))).toBeUndefined();
    }),
  );
});

test('a descriptor with changed bytes is refused, or describes a region that can exist', () => {
  const edits = fc.array(fc.tuple(fc.nat({ max: 31 }), fc.nat({ max: 255 })), { maxLength: 8 });
  holds(
    fc.property(regions, edits, (region, changes) => {
      const bytes = encodeDescriptor(region);
      for (const [at, value] of changes) bytes[at] = value;
      const described = resultOrRefusal(() => describedRegion(bytes));
      if (described === undefined) return;
      expect(Number.isSafeInteger(described.length)).toBe(true);
      expect(described.address + BigInt(described.length)).toBeLessThanOrEqual(2n ** 64n);
      expect(encodeDescriptor(described)).toEqual(bytes);
    }),
  );
});
