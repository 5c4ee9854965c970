import { FabricError } from '../../base/errors.js';
import type { Info } from '../../contract/info-types.js';
import { open } from '../../open.js';
import type { Rdma } from '../shared/rdma.js';
import { rdmaOf, rdmaText } from '../shared/rdma-support.js';

/** What an endpoint of a result reports about its RMA. */
export interface RdmaAnswer {
  readonly provider: string | null;
  readonly fabric: string | null;
  readonly domain: string | null;
  /** Null if the endpoint does not report it, or does not open. */
  readonly rdma: Rdma | null;
  /** Why the endpoint does not open. */
  readonly failure?: string;
}

/** Opens an endpoint for each provider, fabric and domain among entries, and queries it. */
export async function askEndpoints(entries: readonly Info[]): Promise<RdmaAnswer[]> {
  const places = new Map(entries.map((info) => [JSON.stringify(placeOf(info)), placeOf(info)]));
  const answers: RdmaAnswer[] = [];
  for (const place of places.values()) answers.push(await askEndpoint(place));
  return answers;
}

const placeOf = ({ fabricAttr, domainAttr }: Info) => ({
  provider: fabricAttr.provName,
  fabric: fabricAttr.name,
  domain: domainAttr.name,
});

async function askEndpoint(place: ReturnType<typeof placeOf>): Promise<RdmaAnswer> {
  const { provider, fabric, domain } = place;
  try {
    const ep = await open({
      caps: ['FI_MSG', 'FI_RMA'],
      ...(provider !== null && { provider }),
      ...(fabric !== null && { fabric }),
      ...(domain !== null && { domain }),
    });
    const rdma = rdmaOf(ep) ?? null;
    await ep.close();
    return { ...place, rdma };
  } catch (error) {
    if (!FabricError.is(error)) throw error;
    return { ...place, rdma: null, failure: error.message };
  }
}

/** `efa, efa, rdmap0s6-rdm: reads by the device, writes emulated` */
export function answerText({ provider, fabric, domain, rdma, failure }: RdmaAnswer): string {
  const said = failure ?? rdmaText(rdma ?? undefined);
  return `${provider}, ${fabric}, ${domain}: ${said}\n`;
}
