// The flags of a registration: fi_mr_reg(3), fi_efa(7).
import '../support/softefa.js';
import { open, version } from 'libfabric';
import { expect, test } from 'vitest';
import { PROVIDERS } from '../support/providers.js';
import { closing, loopback } from '../support/transfer.js';

const RELAXED = { flags: ['FI_EFA_MR_RELAXED_ORDERING'] } as const;

const openRdm = async (provider: string) =>
  closing(await open({ provider, ...loopback(provider) }));

test.each(PROVIDERS)(
  '%s: relaxed ordering is taken where the provider has it',
  async (provider) => {
    const ep = await openRdm(provider);
    const { major, minor } = version();
    const hasIt = provider === 'efa' && major * 100 + minor >= 207;
    const regions = Promise.allSettled([
      ep.domain.register(new Uint8Array(4096), ['FI_SEND'], RELAXED),
      ep.domain.allocate(4096, ['FI_SEND'], RELAXED),
    ]);
    for (const settled of await regions) {
      if (settled.status === 'fulfilled') closing(settled.value);
      else expect(settled.reason).toMatchObject({ code: 'FI_EOPNOTSUPP', syscall: 'fi_mr_reg' });
      expect(settled.status).toBe(hasIt ? 'fulfilled' : 'rejected');
    }
  },
);

test('flags that do not exist are refused before anything is registered', async () => {
  const { domain } = await openRdm('shm');
  const wrong = [
    ['FI_EFA_MR_RELAXED', 'ERR_INVALID_ARG_VALUE'],
    ['FI_SEND', 'ERR_INVALID_ARG_VALUE'],
  ] as const;
  for (const [flag, code] of wrong) {
    const options = { flags: [flag as never] };
    await expect(domain.register(new Uint8Array(8), ['FI_SEND'], options)).rejects.toMatchObject({
      code,
    });
  }
  for (const flags of ['FI_EFA_MR_RELAXED_ORDERING', 1, null, {}]) {
    const options = { flags: flags as never };
    await expect(domain.register(new Uint8Array(8), ['FI_SEND'], options)).rejects.toMatchObject({
      code: 'ERR_INVALID_ARG_TYPE',
    });
  }
});
