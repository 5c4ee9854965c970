#include "guarded_copy.h"

#include <setjmp.h>
#include <signal.h>

#include <atomic>
#include <cstring>

namespace softefa {
namespace {

// Where this thread continues if its copy faults. A system call that reports the fault itself costs
// 0.2 us for each message, half of its time.
__attribute__((tls_model("initial-exec"))) thread_local sigjmp_buf* volatile onFault = nullptr;

struct sigaction previousSegv, previousBus;

void handle(int signal, siginfo_t* info, void* context) {
  if (sigjmp_buf* const target = onFault) {
    onFault = nullptr;
    sigset_t own;
    ::sigemptyset(&own);
    ::sigaddset(&own, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
    ::siglongjmp(*target, 1);
  }
  const struct sigaction& previous = signal == SIGBUS ? previousBus : previousSegv;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    ::sigaction(signal, &previous, nullptr);  // the instruction raises it again
    if (info->si_code <= 0) ::raise(signal);  // it was sent by a process
  }
}

bool install() {
  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, &previousSegv);
  ::sigaction(SIGBUS, &action, &previousBus);
  return true;
}

}  // namespace

bool guardedCopy(void* to, const void* from, size_t size) {
  static const bool installed = install();
  static_cast<void>(installed);
  sigjmp_buf here;
  if (sigsetjmp(here, 0) != 0) return false;
  onFault = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(to, from, size);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  onFault = nullptr;
  return true;
}

}  // namespace softefa
