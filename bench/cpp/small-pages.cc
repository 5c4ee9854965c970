// Runs a command without transparent huge pages: small-pages COMMAND ARGUMENTS...
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count < 2 || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) {
    std::perror("PR_SET_THP_DISABLE");
    return 2;
  }
  execvp(arguments[1], arguments + 1);
  std::perror(arguments[1]);
  return 2;
}
