#include "process_id.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace softefa {

ProcessId ProcessId::self() { return of(::getpid()); }

ProcessId ProcessId::of(pid_t pid) {
  ProcessId id;
  id.pid = pid;
  char path[32];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", static_cast<int>(pid));
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return id;
  char stat[1024];
  const ssize_t length = ::read(fd, stat, sizeof(stat) - 1);
  ::close(fd);
  if (length <= 0) return id;
  stat[length] = '\0';
  // The name of the program, in parentheses, may hold anything: what follows it is regular.
  const char* rest = std::strrchr(stat, ')');
  char state = 0;
  unsigned long long start = 0;
  const char* format =
      " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu";
  if (rest != nullptr && std::sscanf(rest + 1, format, &state, &start) == 2 && state != 'Z' &&
      state != 'X') {
    id.start = start;
  }
  return id;
}

ProcessId ProcessId::parse(const std::string& name) {
  ProcessId id;
  unsigned long long start = 0;
  int used = 0;
  if (std::sscanf(name.c_str(), "%d.%llu%n", &id.pid, &start, &used) != 2 ||
      static_cast<size_t>(used) != name.size()) {
    return {};
  }
  id.start = start;
  return id;
}

}  // namespace softefa
