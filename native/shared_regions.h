#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <string>

namespace fab {

// The files in /dev/shm that the shm provider maps for an address, by itself or for efa. It (1.17
// to 2.6) takes their name from the address and believes what they say: it crashes on one that is
// no region, is shorter than it says, cannot be mapped or comes from another version. So they are
// looked at before an address is inserted, and again before the first operation to it: most are
// mapped then.
namespace shared_regions {

constexpr const char* kAbsent = "no endpoint of this host has this address";
constexpr const char* kUnfit =
    "its file in /dev/shm is no region of this user and this version of libfabric";

// The file behind an address; empty where an address has none.
std::string nameOf(const fi_info& info, const uint8_t* address);

// Throws Misuse unless a string address names a file in /dev/shm.
void checkName(const uint8_t* address, const std::string& what);

// Whether a file can be made there: 0, or a positive errno. shm (2.2 to 2.6) crashes in
// fi_enable(3) where it cannot: no descriptor is left, /dev/shm is missing or read-only.
int tryToMake();

// An endpoint of this process has this region: those of peers are to be of its version.
void learnVersion(const std::string& name);

// Whether the provider may map it: 0, or a positive errno. FI_ENOENT: it is not there yet.
// FI_EBUSY: a process holds its lock. FI_EADDRNOTAVAIL: it is unfit.
int inspect(const std::string& name);

// Whether the address is one that efa must not be given while its region is not there: shm (1.17 to
// 1.22) gives the place of such a region to the next one, and efa would send to that.
bool sharesPlace(const fi_info& info, const uint8_t* address);

}  // namespace shared_regions

}  // namespace fab
