import type { Option } from 'commander';
import type { EpType } from '../../../../flags.js';
import type { TestKind } from '../../common/choose-settings.js';
import type { TestSide } from './test-side.js';

/** One of fabtests' functional tests. `Own` are the values of the options that only it has. */
export interface FunctionalTest<Own extends object = object> extends TestKind {
  readonly summary: string;
  /** What the two sides do. */
  readonly description: string;
  /** What -e may choose; the test's own type when left out. */
  readonly types?: readonly EpType[];
  /** Bytes of a message and iterations, where -S and -I do not say. */
  readonly size?: number;
  readonly iterations?: number;
  /** Options beside those that all have. They win over one of the same letter. */
  readonly options?: readonly Option[];
  /** The side that looks at what has come; the server when left out. */
  readonly proves?: 'client';
  /** Why a provider cannot do it, where that would end in a hang or a crash. */
  readonly limit?: (provider: string) => string | undefined;
  /** Does the part of one side. Resolves to what that has proved; throws a CheckFailure else. */
  run(side: TestSide<Own>): Promise<string>;
}
