import { test } from 'vitest';
import { runCleanly } from '../support/lifecycle.js';

test.each(['idle', 'events', 'left', 'left-events'])(
  '%s: an engine that waits for no peer lets the process end',
  (how) => runCleanly('transfer-alive', [how], { stdout: how }),
);

test.each(['barrier', 'notes', 'offer'])('%s: waiting for a peer keeps the process alive', (how) =>
  runCleanly('transfer-alive', [how], { stdout: how }),
);
