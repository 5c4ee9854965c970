// efa of 1.x uses an endpoint of the vector in fi_av_insert(3), also if the vector has none.
import '../support/softefa.js';
import { Fabric, getInfo, open, version } from 'libfabric';
import { expect, test } from 'vitest';
import { fabricError } from '../support/transfer.js';

const isOld = version().major < 2;

test.skipIf(!isOld)('efa: a vector without an open endpoint refuses addresses', async () => {
  const caps = ['FI_MSG'] as const;
  const hints = { epAttr: { type: 'FI_EP_RDM' }, caps, fabricAttr: { provName: 'efa' } } as const;
  const [info] = getInfo(hints);
  const other = await open({ provider: 'efa', caps });
  const fabric = Fabric.open(info!);
  const domain = fabric.domain(info!);
  const [av, cq] = [domain.addressVector(), domain.completionQueue()];
  const refusal = fabricError('FI_EOPBADSTATE');
  expect(() => av.insert(other.address)).toThrow(refusal);
  const endpoint = domain.endpoint(info!, { av, cq });
  av.insert(other.address);
  await endpoint.close();
  expect(() => av.insert(endpoint.address)).toThrow(refusal);
  await fabric.close();
  await other.close();
});
