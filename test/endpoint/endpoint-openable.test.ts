// open(), domain() and endpoint() refuse entries of getInfo() that this package cannot open, before they open
// anything.
import { Fabric, getInfo, type Info, type OpenOptions, open } from 'libfabric';
import { describe, expect, test } from 'vitest';
import { queryInfo } from '../../dist/info/info.js';
import '../support/softefa.js';

const rdm = { epAttr: { type: 'FI_EP_RDM' }, fabricAttr: { provName: 'tcp' } } as const;
const connected = { epAttr: { type: 'FI_EP_MSG' }, fabricAttr: { provName: 'tcp' } } as const;

const refusal = (message: string) =>
  expect.objectContaining({ code: 'ERR_INVALID_ARG_VALUE', message });
const CONNECTED = "cannot be 'FI_EP_MSG': connected endpoints are not supported; use FI_EP_RDM";

describe('FI_EP_MSG', () => {
  const [info] = getInfo(connected);

  test('an entry is listed, but fabric.domain() refuses it', async () => {
    const fabric = Fabric.open(info!);
    expect(() => fabric.domain(info!)).toThrow(refusal(`info.epAttr.type ${CONNECTED}`));
    await fabric.close();
  });

  test('domain.endpoint() refuses an entry', async () => {
    const ep = await open({ provider: 'tcp' });
    const { domain, av, receiveQueue: cq } = ep;
    // @ts-expect-error
    expect(() => domain.endpoint(info!, { av, cq })).toThrow(
      refusal(`info.epAttr.type ${CONNECTED}`),
    );
    const unknown: Info = info!;
    expect(() => domain.endpoint(unknown, { av, cq })).toThrow(TypeError);
    await ep.close();
  });

  test('open() refuses the type', async () => {
    // @ts-expect-error
    const options: OpenOptions = { provider: 'tcp', type: 'FI_EP_MSG' };
    await expect(open(options)).rejects.toEqual(refusal(`options.type ${CONNECTED}`));
  });
});

test.each(['FI_EP_UNSPEC', 'FI_EP_SOCK_STREAM', 'rdm', null])(
  'open() refuses type %s',
  async (type) => {
    const shown = type === null ? 'null' : `'${type}'`;
    await expect(open({ type } as never)).rejects.toEqual(
      refusal(`options.type cannot be ${shown}: use one of FI_EP_RDM, FI_EP_DGRAM`),
    );
  },
);

describe('FI_MSG_PREFIX of efa', () => {
  const fabricAttr = { provName: 'efa' } as const;
  const entries = (hints: object) =>
    getInfo({ fabricAttr, ...hints }).map(({ epAttr, mode, txAttr, rxAttr }) => ({
      type: epAttr.type,
      size: epAttr.msgPrefixSize,
      modes: [mode, txAttr.mode, rxAttr.mode].filter((each) => each.includes('FI_MSG_PREFIX'))
        .length,
    }));

  test.each([
    {},
    { epAttr: { type: 'FI_EP_RDM' } },
    { mode: ['FI_CONTEXT', 'FI_CONTEXT2', 'FI_MSG_PREFIX'] },
    { mode: ['FI_CONTEXT', 'FI_CONTEXT2', 'FI_MSG_PREFIX'], epAttr: { type: 'FI_EP_RDM' } },
  ])('no reliable endpoint has it, with hints %j', (hints) => {
    const reliable = entries(hints).filter(({ type }) => type === 'FI_EP_RDM');
    expect(reliable.length).toBeGreaterThan(0);
    for (const entry of reliable) expect(entry).toEqual({ type: 'FI_EP_RDM', size: 0, modes: 0 });
  });

  test.each([{}, { epAttr: { type: 'FI_EP_DGRAM' } }])(
    'datagram endpoints have it, with hints %j',
    (hints) => {
      const datagrams = entries(hints).filter(({ type }) => type === 'FI_EP_DGRAM');
      expect(datagrams).toEqual([{ type: 'FI_EP_DGRAM', size: 40, modes: expect.any(Number) }]);
    },
  );

  test("domain.endpoint() refuses an entry with it: endpoints of 2.5 and 2.6 can't exchange messages", async () => {
    const shown = queryInfo({ ...rdm, fabricAttr }).find(({ mode }) =>
      mode.includes('FI_MSG_PREFIX'),
    );
    const ep = await open({ provider: 'efa' });
    const { domain, av, receiveQueue: cq } = ep;
    expect(() => domain.endpoint(shown!, { av, cq })).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_ARG_VALUE',
        message: expect.stringContaining('FI_MSG_PREFIX'),
      }),
    );
    await ep.close();
  });
});
