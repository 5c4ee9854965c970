// The thread of a domain without open endpoints.
import '../support/softefa.js';
import { Fabric } from 'libfabric';
import { expect, onTestFinished, test } from 'vitest';
import { common } from '../support/providers.js';
import { available, entryOf } from '../support/transfer.js';

test.for(common)('%s: a domain whose endpoints are closed does not poll', async (name, context) => {
  const provider = available(context, name, ['FI_MSG']);
  const info = entryOf(provider, ['FI_MSG']);
  const fabric = Fabric.open(info);
  onTestFinished(() => fabric.close());
  const domain = fabric.domain(info);
  const cq = domain.completionQueue();
  await domain.endpoint(info, { av: domain.addressVector(), cq }).close();

  const { sleeps } = domain.stats();
  while (domain.stats().sleeps < sleeps + 2) await new Promise((resolve) => setTimeout(resolve, 9));
  const { turns } = domain.stats();
  await new Promise((resolve) => setTimeout(resolve, 1000));
  // Polling takes tens of thousands of turns a second, waiting two times 64.
  expect(domain.stats().turns - turns).toBeLessThan(1000);

  const ep = domain.endpoint(info, { av: domain.addressVector(), cq }); // and is polled again
  const received = ep.recv(new Uint8Array(8));
  await ep.send(new Uint8Array(5), ep.av.insert(ep.address));
  expect(await received).toMatchObject({ length: 5 });
});
