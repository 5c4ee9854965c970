import { expect, test } from 'vitest';
import { decodeAddress, encodeAddress } from '../../dist/transfer/address.js';

const addressOf = (length: number) => ({
  id: 5n,
  provider: 'tcp',
  rdma: false,
  rails: [new Uint8Array(length).fill(7)],
  process: undefined,
  maps: false,
});

test('an address is the only text of its content, whatever its length', () => {
  for (let length = 1; length <= 6; length++) {
    const address = encodeAddress(addressOf(length), 'secret');
    expect(decodeAddress(address, 'secret').rails[0]?.length).toBe(length);
    for (const end of ['A', 'AA', 'AAA', 'w', '_']) {
      expect(() => decodeAddress(address + end, 'secret'), address + end).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
      );
    }
    expect(() => decodeAddress(address.slice(0, -1), 'secret')).toThrow(TypeError);
  }
});
