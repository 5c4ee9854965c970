#include "harness.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <vector>

namespace harness {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned kTimeoutSeconds = 120;  // a fork copies the tables of the shadow memory
#else
constexpr unsigned kTimeoutSeconds = 60;
#endif

std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

// The folder of the files that the devices of these tests share. Elsewhere, other devices on this
// machine would clean up the files of a test's killed processes.
class SharedFolder {
 public:
  SharedFolder() {
    CHECK(::mkdtemp(path_.data()) != nullptr);
    CHECK(::chmod(path_.c_str(), 01777) ==
          0);  // the mode of its parent, because a test becomes another user
    ::setenv("SOFTEFA_DIRECTORY", path_.c_str(), 1);
  }
  SharedFolder(const SharedFolder&) = delete;
  ~SharedFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_ = "/dev/shm/softefa-tests-XXXXXX";
};

std::string ending(int status) {
  if (WIFSIGNALED(status)) return std::string("signal ") + strsignal(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

bool run(const Test& test) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(kTimeoutSeconds);
    ::setenv("SOFTEFA_KEEP", "0", 1);
    ::setenv("SOFTEFA_NAMESPACE", ("test-" + std::to_string(::getpid())).c_str(), 1);
    test.body();
    std::exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  std::cout << (status == 0 ? "ok   " : "FAIL ") << test.name;
  if (status != 0) std::cout << " (" << ending(status) << ")";
  std::cout << std::endl;
  return status == 0;
}

}  // namespace

Registration::Registration(const char* name, void (*body)()) { tests().push_back({name, body}); }

void fail(const char* file, int line, const std::string& what) {
  std::cerr << "  " << file << ":" << line << ": " << what << std::endl;
  std::exit(1);
}

Side::Side(const std::function<void(Side&)>& body) {
  int sockets[2];
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ == 0) {
    ::close(sockets[0]);
    ::alarm(kTimeoutSeconds);
    Side parent(sockets[1]);
    body(parent);
    std::exit(0);
  }
  ::close(sockets[1]);
  socket_ = sockets[0];
}

void Side::join(int signal) {
  int status = 0;
  CHECK(::waitpid(pid_, &status, 0) == pid_);
  const bool expected =
      signal == 0 ? status == 0 : WIFSIGNALED(status) && WTERMSIG(status) == signal;
  if (!expected) fail(__FILE__, __LINE__, "the peer process ended with " + ending(status));
}

void Side::kill() { ::kill(pid_, SIGKILL); }

bool Side::ready() const {
  pollfd socket{socket_, POLLIN, 0};
  return ::poll(&socket, 1, 0) > 0;
}

void Side::write(const void* data, size_t size) {
  CHECK(::send(socket_, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size));
}

void Side::read(void* data, size_t size) {
  CHECK(::recv(socket_, data, size, MSG_WAITALL) == static_cast<ssize_t>(size));
}

}  // namespace harness

// Runs the tests that the arguments name, or all tests. --list prints their names.
int main(int argc, char** argv) {
  const std::set<std::string> names(argv + 1, argv + argc);
  if (names.count("--list") != 0) {
    for (const harness::Test& test : harness::tests()) std::cout << test.name << "\n";
    return 0;
  }
  const harness::SharedFolder folder;
  size_t chosen = 0, failed = 0;
  for (const harness::Test& test : harness::tests()) {
    if (!names.empty() && names.count(test.name) == 0) continue;
    ++chosen;
    if (!harness::run(test)) ++failed;
  }
  if (failed != 0) std::cout << failed << " failed" << std::endl;
  if (chosen < names.size()) std::cerr << "some of these tests do not exist" << std::endl;
  return failed != 0 || chosen < names.size();
}
