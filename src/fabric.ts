import { checkOptions } from './checks.js';
import { publishClose, publishOpen } from './diagnostics.js';
import { Domain, type DomainOptions } from './domain.js';
import { type CloseOptions, checkPatience, type Patience } from './endpoint/patience.js';
import { atCallerOf, closed, invalidArgValue } from './errors.js';
import { infoHandle } from './info.js';
import type { AnyInfo } from './info-types.js';
import { type Handle, native } from './native.js';

/** A network: what domains are opened on (fi_fabric(3)). */
export class Fabric {
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

  /** Opens the fabric of an entry of getInfo(): fi_fabric. */
  static open(info: AnyInfo): Fabric {
    try {
      return new Fabric(info);
    } catch (error) {
      throw atCallerOf(Fabric.open, error);
    }
  }

  /** Whether it is closed, or something that it belongs to is. */
  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** Opens a domain, usually a NIC, and the engine that drives it: fi_domain. */
  domain(info: AnyInfo, options?: DomainOptions): Domain {
    if (this.closed) throw closed('the fabric');
    checkOptions('options', options);
    infoHandle(info);
    const { name, provName } = info.fabricAttr;
    if (name !== this.name || provName !== this.#provName) {
      throw invalidArgValue('info', 'is of another fabric');
    }
    const domain: Domain = new Domain(this.#handle, info, options ?? {}, () => {
      this.#domains.delete(domain);
    });
    this.#domains.add(domain);
    return domain;
  }

  /** Closes the fabric, and its domains first. */
  async close(options: CloseOptions = {}): Promise<void> {
    const patience = checkPatience(options);
    this.#closing ??= this.#close(patience);
    return this.#closing;
  }

  async #close(patience: Patience): Promise<void> {
    const closings = [...this.#domains].map((domain) => domain.close(patience));
    const failed = (await Promise.allSettled(closings)).find(({ status }) => status === 'rejected');
    native.fabricClose(this.#handle);
    publishClose('fabric', this);
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** Closes it: `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
