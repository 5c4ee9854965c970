#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fab {

// A regular file that was opened, and its content if that is short.
struct ObjectFile {
  int error = 0;  // errno. Then nothing else is set.
  int fd = -1;    // -1 if `bytes` has the content, or if only the rest was asked for
  uint64_t size = 0;
  double modified = 0;  // microseconds since 1970
  uint64_t inode = 0;
  std::string checksum;  // what setChecksum() has stored, if it was asked for
};

struct ObjectQuery {
  int root;
  std::string path;  // below the root
  int64_t
      inlined;  // the most bytes whose content is read. -1: neither the content nor a descriptor
  bool checksum;
  bool now;  // fails with EAGAIN where it would have to wait for a disk
};

// `room(size)` returns where the content goes.
template <typename Room>
ObjectFile readObject(const ObjectQuery& query, Room room);

// Opens and describes a file. The caller reads the content and closes the descriptor.
ObjectFile openObject(const ObjectQuery& query);

// Reads all of a short file and closes it. Returns 0 or an errno.
int readWhole(ObjectFile& file, uint8_t* into, bool now);

void closeObject(ObjectFile& file);

// Stores a text beside the content of a file. Returns 0 or a negative errno.
int setChecksum(int fd, const std::string& text);

// The CRC-64/NVME of a part of a file. Sets `error` to an errno, or to 0.
uint64_t crc64OfFile(int fd, uint64_t start, uint64_t end, int& error);

template <typename Room>
ObjectFile readObject(const ObjectQuery& query, Room room) {
  ObjectFile file = openObject(query);
  if (file.error != 0) return file;
  if (query.inlined < 0) {
    closeObject(file);
  } else if (file.size <= static_cast<uint64_t>(query.inlined)) {
    const int error = readWhole(file, room(file.size), query.now);
    if (error != 0) file.error = error;
  }
  return file;
}

}  // namespace fab
