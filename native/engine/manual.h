#pragma once

#include "engine.h"

namespace fab {

// Turns of the engine by the caller: domain.progress(), domain.wait(), batch.run().

void turnOnce(Engine& engine);
// The same, after whoever holds the engine meanwhile.
void turnLast(Engine& engine);

// Turns until control.waitCount completions are there or control.waitMicroseconds have gone.
void waitForCompletions(Engine& engine);

// Submits control.runBatch and turns until it has ended or control.waitMicroseconds have gone.
void runBatch(Engine& engine);

// The batch of a run that was over before it ended goes on as request control.waitCount.
void adoptRun(Engine& engine);

}  // namespace fab
