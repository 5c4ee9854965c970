#pragma once

#include <cstddef>

#include "interpose.h"

// What libfabric/softefa steers a namespace with, in a process that may have no device.

// Joins a namespace, with its page of knobs; nullptr, and why in `failure`, if that cannot be.
SOFTEFA_EXPORT void* softefa_enter(const char* directory, const char* name, char* failure,
                                   size_t size);

// The folder of a namespace that was entered.
SOFTEFA_EXPORT const char* softefa_folder(void* space);

// Leaves a namespace that was entered.
SOFTEFA_EXPORT void softefa_leave(void* space);

// Removes a namespace with its counters. The number of processes that use it and so prevent that,
// or -1, and why in `failure`.
SOFTEFA_EXPORT int softefa_remove(const char* directory, const char* name, char* failure,
                                  size_t size);
