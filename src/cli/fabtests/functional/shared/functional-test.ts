import type { Option } from 'commander';
import type { EpType } from '../../../../base/flags.js';
import type { TestKind } from '../../common/choose-settings.js';
import type { TestSide } from './test-side.js';

/**
 * One of fabtests' functional tests. `Own` holds the values of the options that only this test has.
 */
export interface FunctionalTest<Own extends object = object> extends TestKind {
  readonly summary: string;
  /** The actions of the two sides. */
  readonly description: string;
  /** The endpoint types that -e accepts. Default: the test's type. */
  readonly types?: readonly EpType[];
  /** The defaults of -S and -I. */
  readonly size?: number;
  readonly iterations?: number;
  /** Additional options. They replace common options with the same letter. */
  readonly options?: readonly Option[];
  /** The side that verifies the received data. Default: the server. */
  readonly proves?: 'client';
  /** Why a provider cannot run the test: it would hang or crash. */
  readonly limit?: (provider: string) => string | undefined;
  /** Runs one side. Resolves to what it proved. Throws a TestFailure if the test fails. */
  run(side: TestSide<Own>): Promise<string>;
}
