// The types that follow from hints. `tsc -p tsconfig.test.json` checks them.
import { type AnyInfo, type Cap, type EpType, getInfo, type Hints, type Info } from 'libfabric';
import { expectTypeOf, test } from 'vitest';

test('the type of an entry has the requested endpoint type and capabilities', () => {
  const [info] = getInfo({
    fabricAttr: { provName: 'shm' },
    epAttr: { type: 'FI_EP_RDM' },
    caps: ['FI_MSG', 'FI_TAGGED'],
  });
  expectTypeOf(info).toEqualTypeOf<Info<'FI_EP_RDM', 'FI_MSG' | 'FI_TAGGED'> | undefined>();
});

test('the type of an entry is general where the hints are', () => {
  expectTypeOf(getInfo()).toEqualTypeOf<Info[]>();
  expectTypeOf(getInfo(null)).toEqualTypeOf<Info[]>();
  expectTypeOf(getInfo({})).toEqualTypeOf<Info<EpType, Cap>[]>();
  expectTypeOf(getInfo({ epAttr: { type: 'FI_EP_DGRAM' } })).toEqualTypeOf<
    Info<'FI_EP_DGRAM', Cap>[]
  >();
  expectTypeOf(getInfo({} as Hints)).toEqualTypeOf<Info<EpType, Cap>[]>();
});

test('an entry with more capabilities is assignable to one with fewer, and not the reverse', () => {
  type Both = Info<'FI_EP_RDM', 'FI_MSG' | 'FI_TAGGED'>;
  type Msg = Info<'FI_EP_RDM', 'FI_MSG'>;
  expectTypeOf<Both>().toExtend<Msg>();
  expectTypeOf<Msg>().not.toExtend<Both>();
  expectTypeOf<Both>().toExtend<AnyInfo>();
  expectTypeOf<Info<'FI_EP_DGRAM', 'FI_MSG'>>().not.toExtend<Msg>();
});

test('unknown names do not compile', () => {
  // @ts-expect-error a misspelled capability
  const caps: Hints = { caps: ['FI_TAGED'] };
  // @ts-expect-error a capability among the modes
  const mode: Hints = { mode: ['FI_MSG'] };
  // @ts-expect-error an attribute of another structure
  const attr: Hints = { txAttr: { maxMsgSize: 1n } };
  // @ts-expect-error an attribute that is only reported
  const output: Hints = { fabricAttr: { apiVersion: '1.17' } };
  expectTypeOf([caps, mode, attr, output]).toExtend<Hints[]>();
});
