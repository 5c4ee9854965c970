#pragma once

// libfabric includes this file, and needs nothing of it.
#include "nrt.h"
