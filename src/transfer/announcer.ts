import type { FabricError } from '../base/errors.js';
import type { RailState } from '../diagnostics/transfer-state.js';
import { fellBack, type Owner, peerChanged, railChanged, railError } from './channels.js';
import { EngineEvents, type RailEvent } from './engine-events.js';
import { RAIL_STATES, type Rail } from './rails.js';
import type { RemoteEngine } from './remote-engine.js';

/** Announces a fallback, and changes and errors of rails and peers: as events of the engine and on the channels. */
export class Announcer {
  readonly events = new EngineEvents();
  readonly #owner: Owner;
  readonly #rails: () => readonly RailState[];

  /** @param rails returns the states of the rails. */
  constructor(owner: Owner, rails: () => readonly RailState[]) {
    this.#owner = owner;
    this.#rails = rails;
  }

  /** Called if the engine uses `provider` because there is no efa. */
  fellBack(provider: string): void {
    process.emitWarning(`no EFA device: the transfer engine uses ${provider}`, 'LibfabricWarning');
    const event = { type: 'fallback', provider } as const;
    this.events.begin(event);
    if (fellBack.hasSubscribers) fellBack.publish({ ...event, engine: this.#owner.engine });
  }

  /** The engine takes no further peer. Its servers may have no other way to say so: their clients fall back. */
  full(error: FabricError): void {
    process.emitWarning(
      `a transfer engine takes no further peer: ${error.message}`,
      'LibfabricWarning',
    );
  }

  /** The provider has reported an error of a rail. */
  railFailed(index: number, error: FabricError): void {
    if (!this.events.observed && !railError.hasSubscribers) return;
    const rail = this.#rails()[index] as RailState;
    const event = { type: 'error', rail, error } as const;
    this.events.emit(event);
    if (railError.hasSubscribers) railError.publish({ ...event, engine: this.#owner.engine });
  }

  peerChanged(peer: RemoteEngine, reason: string): void {
    if (!this.events.observed && !peerChanged.hasSubscribers) return;
    const event = { type: 'peer', peer, state: peer.state, reason } as const;
    this.events.emit(event);
    if (peerChanged.hasSubscribers) peerChanged.publish({ ...event, engine: this.#owner.engine });
  }

  /** The provider of a rail is stuck, or goes on. */
  railStuck(index: number, rail: Rail): void {
    const { stuck, announced } = rail;
    const unstuck = announced === 'stalled' ? 'up' : announced;
    const code = RAIL_STATES.indexOf(stuck === undefined ? unstuck : 'stalled');
    this.railChanged(index, rail, code, stuck ?? '', undefined);
  }

  /** @param code the index of the state in RAIL_STATES. */
  railChanged(
    index: number,
    changed: Rail,
    code: number,
    reason: string,
    peer: RemoteEngine | undefined,
  ): void {
    const state = RAIL_STATES[code] as RailState['state'];
    const previous = changed.announced;
    changed.announced = state;
    if (!this.events.observed && !railChanged.hasSubscribers) return;
    const rail = { ...(this.#rails()[index] as RailState), state };
    const event: RailEvent = { type: 'rail', rail, previous, peer, reason };
    this.events.emit(event);
    if (railChanged.hasSubscribers) railChanged.publish({ ...event, engine: this.#owner.engine });
  }
}
