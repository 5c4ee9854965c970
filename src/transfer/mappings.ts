import { closeSync } from 'node:fs';
import { withoutContext } from '../base/async-context.js';
import { type Handle, native } from '../contract/native.js';
import type { Access } from '../diagnostics/transfer-state.js';
import { openShared, type ProcessIdentity, type SharedFile } from './same-host.js';

const IDLE = 10_000; // ms that an unused mapping stays, because mapping it again takes time

/** The memory of a peer on this host that this process has mapped. */
export class Mappings {
  readonly #self: Handle<'TransferEngine'>;
  readonly #owner: ProcessIdentity;
  readonly #engine: bigint;
  readonly #files = new Map<string, { readonly handle: Handle<'Mapping'>; used: number }>();
  #timer: NodeJS.Timeout | undefined;

  /** @param engine the identity of the peer's engine. */
  constructor(self: Handle<'TransferEngine'>, owner: ProcessIdentity, engine: bigint) {
    this.#self = self;
    this.#owner = owner;
    this.#engine = engine;
  }

  /** Maps a file of the peer. Returns undefined if that is impossible. */
  get(file: SharedFile, access: Access): Handle<'Mapping'> | undefined {
    const name = `${file.inode} ${access}`;
    const now = performance.now();
    const known = this.#files.get(name);
    if (known !== undefined) {
      known.used = now;
      return known.handle;
    }
    const fd = openShared(this.#owner, this.#engine, file, access);
    if (fd === undefined) return undefined;
    const handle = native.transferMap(this.#self, fd, access === 'write');
    closeSync(fd);
    if (handle !== undefined) this.#files.set(name, { handle, used: now });
    this.#timer ??= withoutContext(() => setInterval(() => this.#closeUnused(), IDLE).unref());
    return handle;
  }

  #closeUnused(): void {
    const before = performance.now() - IDLE;
    for (const [name, { handle, used }] of this.#files) {
      if (used > before) continue;
      this.#files.delete(name);
      native.transferUnmap(handle);
    }
    if (this.#files.size === 0) this.close();
  }

  /** Unmaps all memory. Transfers in flight keep the mappings that they need. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const { handle } of this.#files.values()) native.transferUnmap(handle);
    this.#files.clear();
  }
}
