// What functional tests print as JSON.

/** The result of a test, as --json writes it. */
export interface Verdict {
  readonly name: string;
  readonly role: 'client' | 'server';
  readonly passed: boolean;
  /** Whether the provider supports the test. */
  readonly offered: boolean;
  /** What the test proved, or what went wrong. */
  readonly detail: string;
  readonly expected?: string;
  readonly found?: string;
  readonly lookAt?: string;
  readonly provider?: string | null;
  readonly domain?: string | null;
  readonly endpointType?: string;
  /** The memory of a device: `'CUDA device 0 (NVIDIA H100), FI_MR_DMABUF'`. */
  readonly memory?: string;
  /** The exit code. */
  readonly errno: number;
}

/** The outcome of one side of a test. */
export interface SideVerdict extends Partial<Verdict> {
  readonly passed: boolean;
  readonly offered: boolean;
  readonly detail: string;
  /** Seconds from the start of the process to its end. */
  readonly seconds: number;
}

/** The outcome of a test on both sides. */
export interface Outcome {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** What the test proved, what went wrong and where, or what is not offered. */
  readonly detail: string;
  readonly server: SideVerdict;
  readonly client: SideVerdict;
}

/** The result of `check --json`. */
export interface CheckResult {
  readonly provider: string | null;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly checks: readonly Outcome[];
}
