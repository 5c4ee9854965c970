/** The measurements of the client. The client sends its plan to the server. */
export interface Plan {
  /** Whether the client writes to the server, or reads from it. */
  readonly operation: 'write' | 'read';
  /** Bytes of the transfers. */
  readonly sizes: readonly number[];
  /** Bytes of a page, if the transfers consist of scattered pages. */
  readonly pages?: number;
  /** Transfers of each size. If undefined, they depend on the size. */
  readonly iterations?: number;
  /** Transfers of each size before the measured ones. */
  readonly warmUp: number;
  /** Whether the receiving side compares every byte with what was sent. */
  readonly verify: boolean;
  /** Bytes of a slice. */
  readonly slice?: number;
  /** Bytes in flight on a rail. */
  readonly window?: number;
  /** Milliseconds without progress after which a rail's slices go to others. */
  readonly stall?: number;
  /** Threads that drive the rails. */
  readonly threads?: number;
  /** Whether processes of one host map each other's memory. */
  readonly map?: boolean;
}

/** The most pages of a transfer: a token names each of them. */
export const MOST_PAGES = 2 ** 18;

/** Why a plan cannot be carried out; undefined if it can. */
export function problemOf({ sizes, pages }: Pick<Plan, 'sizes' | 'pages'>): string | undefined {
  if (pages === undefined) return undefined;
  const uneven = sizes.find((size) => size % pages !== 0);
  if (uneven !== undefined) {
    return `--pages: ${uneven} bytes are not a whole number of pages of ${pages} bytes`;
  }
  const many = sizes.find((size) => size / pages > MOST_PAGES);
  if (many === undefined) return undefined;
  return `--pages: ${many} bytes are ${many / pages} pages, and a transfer has at most ${MOST_PAGES}`;
}

const USUAL_BYTES = 2.5 * 2 ** 30; // of all transfers of a size

/** The measured transfers of a size. */
export function iterationsOf(plan: Plan, size: number): number {
  return plan.iterations ?? Math.min(1000, Math.max(10, Math.ceil(USUAL_BYTES / size)));
}
