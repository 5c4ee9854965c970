#include "efa.h"

#include <infiniband/efadv.h>

namespace verbs {

static_assert(sizeof(EfaAttributes) == sizeof(efadv_device_attr));

EfaAttributes queryEfa(const Context& context) {
  const Library library("libefa.so.1", "efadv_query_device");
  const auto query = library.function<decltype(efadv_query_device)>("efadv_query_device");
  EfaAttributes attributes{};
  const int error =
      query(context.get(), reinterpret_cast<efadv_device_attr*>(&attributes), sizeof(attributes));
  if (error != 0) fail(error, "efadv_query_device");
  return attributes;
}

}  // namespace verbs
