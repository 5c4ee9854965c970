#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <string>

namespace fab {

// The files in /dev/shm (regions) that the shm provider maps for an address, by itself or for efa.
// The provider (1.17 to 2.6) takes the file name from the address and trusts the content. It
// crashes on a file that is not a region, is shorter than it states, cannot be mapped or belongs to
// another version. This package therefore checks the file before it inserts an address, and again
// before the first operation to it, when the provider maps most files.
namespace shared_regions {

constexpr const char* kAbsent = "no endpoint of this host has this address";
constexpr const char* kInvalidRegion =
    "its file in /dev/shm is not a region of this user and this version of libfabric";

// The file name in an address; empty if the address has none.
std::string nameOf(const fi_info& info, const uint8_t* address);

// Throws Misuse unless a string address names a file in /dev/shm.
void checkName(const uint8_t* address, const std::string& what);

// Throws FabricFailure if another process has a region of this name. shm takes it over in
// fi_enable(3).
void checkFree(const std::string& name);

// Throws FabricFailure unless /dev/shm has room for a region. Otherwise shm (1.17 to 2.6) may
// crash: in fi_enable(3) if it cannot create the file (2.2 and later), or wherever it touches a
// page of the region for the first time.
void checkRoom();

// Reads the version of a region of an endpoint of this process. Regions of peers must match it.
void readOwnVersion(const std::string& name);

// Whether the provider may map a region: 0, or a positive errno. FI_ENOENT: it does not exist yet.
// FI_EBUSY: a process holds its lock. FI_EADDRNOTAVAIL: it is not a valid region.
int inspect(const std::string& name);

// Whether efa must not insert the address before its region exists: shm (1.17 to 1.22) reuses the
// slot of a missing region for the next one, and efa would send to that one.
bool mayShareSlot(const fi_info& info, const uint8_t* address);

}  // namespace shared_regions

}  // namespace fab
