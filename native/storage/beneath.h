#pragma once

#include <string>

namespace fab {

// Files below a folder, by a relative path whose components are separated by '/'. No component may
// be a symbolic link. The functions return a descriptor, or a negative errno.

int openBeneath(int folder, const std::string& path, int flags);

// The same without waiting for a disk: -EAGAIN if that is impossible, also because the kernel does
// not know how.
int openBeneathNow(int folder, const std::string& path, int flags);

// A folder, for names in /proc/self/fd. `create`: makes the folders that are missing.
int openFolderBeneath(int folder, const std::string& path, bool create);

}  // namespace fab
