// The layout of the memory that JavaScript shares with the engine. It equals
// native/engine/layout.h; a test compares the two.

// The numbers are const enums, whose values the compiler writes into the code: V8 inlines only
// functions with little bytecode, and each import of a constant adds to it. The compiler option
// verbatimModuleSyntax would leave the imports: a write into a batch would take 10 to 15 % longer.

/** The size of an operation, of each of its additional blocks, and of a completion. */
export const enum Entry {
  Bytes = 64,
  U32 = 16,
  F64 = 8,
}

export const enum Op {
  Nop = 0,
  Send = 1,
  Tsend = 2,
  Write = 3,
  Read = 4,
  Atomic = 5,
  Inject = 6,
  Tinject = 7,
  InjectWrite = 8,
  Recv = 16,
  Trecv = 17,
  Submit = 32,
  Cancel = 33,
  RemovePeer = 34,
  CloseMemory = 35,
  CloseEndpoint = 36,
  GiveBack = 37,
}

/**
 * The fields of an operation: indices into its entry, in units of 4 or 8 bytes as the name says.
 */
export const enum OpField {
  Head32 = 0, // code, blocks, segments, remotes: a byte each
  Request32 = 1,
  Endpoint32 = 2,
  Peer32 = 3,
  Memory32 = 4,
  Remote32 = 5,
  Offset64 = 3,
  Length64 = 4,
  Tag64 = 5, // or the remote offset
  Data64 = 6, // or the ignore mask, or datatype and op
  Flags64 = 7,
}

/** The most bytes of a send that are copied inline into the ring. */
export const CARRIED_BYTES = 192;

/** The size of a segment after the first. */
export const enum Segment {
  U32 = 6,
  F64 = 3,
  PerBlock = 2,
}

export const enum Event {
  Operation = 0,
  CancelRefused = 1,
  Immediate = 2,
  Partial = 3,
  Unsolicited = 4,
  Overrun = 5,
  Left = 6, // the request has failed but its operation continues; Operation follows
}

export const enum CompletionField {
  Request32 = 0,
  Status32 = 1,
  Event32 = 2,
  Source32 = 3,
  Length64 = 2,
  Offset64 = 3,
  Tag64 = 4,
  Data64 = 5,
  Flags64 = 6,
  Error32 = 14,
  Queue32 = 15, // or the number of the message
}

/** The values of Word.Notified. */
export const enum Notified {
  No = 0,
  Polls = 2, // the event loop polls the completion ring
}

/** Words of the control block, in units of 4 bytes, or of 8 if the name ends with 64. */
export const enum Word {
  SubmissionTail = 0,
  SubmissionHead = 16,
  CompletionTail = 32,
  CompletionHead = 48,
  Sleeping = 64,
  Notified = 80,
  Pending = 96,
  Unref = 97,
  WaitCount64 = 56,
  WaitMicroseconds64 = 57,
  RunVersion64 = 58,
  RunBatch = 118,
  RunEndpoint = 119,
  RunEntries = 120,
  RunStatus = 121,
  RunError = 122,
  RunEvery = 123,
  RunTimes64 = 62,
  RunSpan64 = 63,
  RunSamples64 = 64,
  RunRounds64 = 65,
  Stats64 = 72,
}

/** The status of run()'s batch while it is running. */
export const RUNNING = 0xffff_ffff;

export const STATS = [
  'turns',
  'operations',
  'completions',
  'errors',
  'backPressure',
  'wakeups',
  'sleeps',
  'bytesTransferred',
  'immediates',
  'lostImmediates',
] as const;

/** The activity of a domain's engine since it was opened. */
export type Stats = { readonly [Name in (typeof STATS)[number]]: number };
