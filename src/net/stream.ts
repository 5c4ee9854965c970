/** The modes of streams. */
export const Mode = { Bytes: 0, Messages: 1 } as const;

/** What a stream's owner learns of it. */
export interface StreamOwner {
  accepted(): void;
  refused(errno: number): void;
  /** take() has something. */
  readable(): void;
  /** write() has room. */
  writable(): void;
  reset(errno: number): void;
  /** Packets travel over the control connection from now on, because the fabric has failed. */
  fellBack(error: Error): void;
  /** Packets travel over the other NICs from now on. */
  lostNic(error: Error): void;
  /** The session has ended. If the peer had ended its side before, `error` is undefined, and take() gives the rest. */
  lost(error: Error | undefined): void;
}
