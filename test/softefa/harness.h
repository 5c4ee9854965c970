#pragma once

#include <functional>
#include <iostream>
#include <string>
#include <type_traits>

// Each test runs in a process of its own, because a process creates its devices once, from the
// environment, and because some tests end with a signal.

namespace harness {

struct Test {
  const char* name;
  void (*body)();
};

struct Registration {
  Registration(const char* name, void (*body)());
};

// Ends the process of the test.
[[noreturn]] void fail(const char* file, int line, const std::string& what);

template <class T>
auto printable(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else {
    return +value;
  }
}

template <class A, class B>
void equal(const A& a, const B& b, const char* text, const char* file, int line) {
  if (a == b) return;
  std::cerr << "  " << printable(a) << " is not " << printable(b) << "\n";
  fail(file, line, text);
}

// A second process, forked before any device was opened, with a socket between the two processes.
class Side {
 public:
  explicit Side(const std::function<void(Side&)>& body);
  // Waits for the end of the process. It must succeed, or end with `signal` if that is given.
  void join(int signal = 0);
  void kill();
  int pid() const { return pid_; }
  // Whether data is available, without waiting.
  bool ready() const;

  template <class T>
  void put(const T& value) {
    write(&value, sizeof(value));
  }
  template <class T>
  T get() {
    T value;
    read(&value, sizeof(value));
    return value;
  }

 private:
  explicit Side(int socket) : socket_(socket) {}
  void write(const void* data, size_t size);
  void read(void* data, size_t size);

  int socket_ = -1;
  int pid_ = 0;
};

}  // namespace harness

#define TEST(name)                                                            \
  static void test_##name();                                                  \
  static const harness::Registration registration_##name(#name, test_##name); \
  static void test_##name()
#define CHECK(condition) ((condition) ? void() : harness::fail(__FILE__, __LINE__, #condition))
#define CHECK_EQ(a, b) harness::equal((a), (b), #a " == " #b, __FILE__, __LINE__)
