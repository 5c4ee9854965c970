#pragma once

#include "engine.h"

namespace fab {

// Runs the engine in the caller's thread: domain.progress(), domain.wait(), batch.run().

void turnOnce(Engine& engine);
// The same, but waits if the engine is held.
void turnLast(Engine& engine);

// Runs turns until control.waitCount completions have arrived or control.waitMicroseconds have
// passed.
void waitForCompletions(Engine& engine);

// Submits control.runBatch and runs turns until it has ended or control.waitMicroseconds have
// passed.
void runBatch(Engine& engine);

// After run() has timed out, its batch continues as request control.waitCount.
void adoptRun(Engine& engine);

}  // namespace fab
