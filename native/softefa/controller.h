#pragma once

#include <cstddef>

#include "interpose.h"

// The functions with which libfabric/softefa controls a namespace, from a process that may have no
// device.

// Joins a namespace and creates its page of knobs if needed. On failure returns nullptr and sets
// `failure` to the reason.
SOFTEFA_EXPORT void* softefa_enter(const char* directory, const char* name, char* failure,
                                   size_t size);

// The folder of an entered namespace.
SOFTEFA_EXPORT const char* softefa_folder(void* space);

// Leaves an entered namespace.
SOFTEFA_EXPORT void softefa_leave(void* space);

// Removes a namespace with its counters. Returns the number of processes that use the namespace and
// so prevent the removal. On failure returns -1 and sets `failure` to the reason.
SOFTEFA_EXPORT int softefa_remove(const char* directory, const char* name, char* failure,
                                  size_t size);
