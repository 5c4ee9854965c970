import { expect, test } from 'vitest';
import { decodeCard, encodeCard } from '../../dist/transfer/card.js';

const cardOf = (length: number) => ({
  id: 5n,
  provider: 'tcp',
  rdma: false,
  addresses: [new Uint8Array(length).fill(7)],
  process: undefined,
});

test('a card is the only text of its content, whatever its length', () => {
  for (let length = 1; length <= 6; length++) {
    const card = encodeCard(cardOf(length), 'secret');
    expect(decodeCard(card, 'secret').addresses[0]?.length).toBe(length);
    for (const end of ['A', 'AA', 'AAA', 'w', '_']) {
      expect(() => decodeCard(card + end, 'secret'), card + end).toThrow(
        expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE' }),
      );
    }
    expect(() => decodeCard(card.slice(0, -1), 'secret')).toThrow(TypeError);
  }
});
