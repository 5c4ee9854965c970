#pragma once

#include <string>
#include <system_error>

namespace softefa {

[[noreturn]] inline void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

}  // namespace softefa
