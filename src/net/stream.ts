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
  /** Packets travel over the control connection from now on, because the fabric has failed. */
  fellBack(error: Error): void;
  /** Packets travel over the other NICs from now on. */
  lostNic(error: Error): void;
  /**
   * The peer has reset the stream, or the session has ended. take() gives what arrived before; `isWhole`: it ends with the
   * peer's end. After that, the owner destroys the stream.
   */
  lost(error: Error, isWhole: boolean): void;
}
