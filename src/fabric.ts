import { publishClose, publishOpen } from './base/channels.js';
import { checkObject } from './base/checks.js';
import { uncloneable } from './base/describe.js';
import { atCallerOf, closed, invalidArgValue } from './base/errors.js';
import type { AnyInfo } from './contract/info-types.js';
import { type Handle, native } from './contract/native.js';
import { Domain } from './domain.js';
import type { DomainOptions } from './domain-options.js';
import {
  type CheckedCloseOptions,
  type CloseOptions,
  checkCloseOptions,
} from './endpoint/close-options.js';
import { infoHandle } from './info/info.js';

const UNCLONEABLE = uncloneable('a Fabric belongs to its thread: open another one there');

/** A fabric: the network that domains are opened on (fi_fabric(3)). */
export class Fabric {
  /** @internal */
  readonly uncloneable = UNCLONEABLE;
  /** Its name: `info.fabricAttr.name`. */
  readonly name: string | null;
  readonly #handle: Handle<'Fabric'>;
  readonly #provName: string | null;
  readonly #domains = new Set<Domain>();
  #closing: Promise<void> | undefined;

  private constructor(info: AnyInfo) {
    this.#handle = native.fabricOpen(infoHandle(info));
    this.name = info.fabricAttr.name;
    this.#provName = info.fabricAttr.provName;
    publishOpen('fabric', this);
  }

  /**
   * Opens the fabric of an entry of getInfo(): fi_fabric.
   *
   * @throws FabricError with the code of fi_fabric(3).
   */
  static open(info: AnyInfo): Fabric {
    try {
      return new Fabric(info);
    } catch (error) {
      throw atCallerOf(Fabric.open, error);
    }
  }

  /** Whether the fabric is closed. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * Opens a domain, usually a NIC, and the engine that drives it: fi_domain.
   *
   * @throws FabricError with the code of fi_domain(3), such as FI_ENOMEM.
   * @throws Error ERR_CLOSED if the fabric is closed.
   * @throws TypeError ERR_INVALID_ARG_VALUE if the entry belongs to another fabric or needs a mode that
   * this package does not support.
   */
  domain(info: AnyInfo, options?: DomainOptions): Domain {
    if (this.closed) throw closed('the fabric');
    checkObject('options', options);
    infoHandle(info);
    const { name, provName } = info.fabricAttr;
    if (name !== this.name || provName !== this.#provName) {
      throw invalidArgValue('info', 'belongs to another fabric');
    }
    const domain: Domain = new Domain(this.#handle, info, options, () => {
      this.#domains.delete(domain);
    });
    this.#domains.add(domain);
    return domain;
  }

  /**
   * Closes the fabric's domains, then the fabric.
   *
   * @throws FabricError FI_ETIMEDOUT if a domain cannot be closed: see Domain.close().
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const checked = checkCloseOptions(options);
    this.#closing ??= this.#close(checked);
    return this.#closing;
  }

  async #close(options: CheckedCloseOptions): Promise<void> {
    const closings = [...this.#domains].map((domain) => domain.close(options));
    const failed = (await Promise.allSettled(closings)).find(({ status }) => status === 'rejected');
    native.fabricClose(this.#handle);
    publishClose('fabric', this);
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** Closes the fabric: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
