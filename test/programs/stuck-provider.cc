// A preloaded library whose system calls never return to threads of engines while the file $STUCK
// exists. The first such call creates the file $STUCK-reached. A call that closes an endpoint of
// shm does not return either if it finds, and removes, a file with the endpoint's name in the
// folder $STUCK_CLOSE.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void mayStick() {
  static thread_local const bool isEngine = [] {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    return std::strcmp(name, "libfabric") == 0;
  }();
  const char* const file = std::getenv("STUCK");
  if (!isEngine || access(file, F_OK) != 0) return;
  close(open((std::string(file) + "-reached").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  for (;;) pause();
}

template <typename Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static const auto real = next(sendmsg, "sendmsg");
  mayStick();
  return real(fd, message, flags);
}

extern "C" ssize_t send(int fd, const void* data, size_t size, int flags) {
  static const auto real = next(send, "send");
  mayStick();
  return real(fd, data, size, flags);
}

extern "C" ssize_t writev(int fd, const iovec* pieces, int count) {
  static const auto real = next(writev, "writev");
  mayStick();
  return real(fd, pieces, count);
}

extern "C" int shm_unlink(const char* name) {
  static const auto real = next(shm_unlink, "shm_unlink");
  const char* const folder = std::getenv("STUCK_CLOSE");
  const bool sticks = folder != nullptr && unlink((std::string(folder) + "/" + name).c_str()) == 0;
  while (sticks) pause();
  return real(name);
}
