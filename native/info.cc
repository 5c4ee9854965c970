#include "info.h"

#include <dlfcn.h>
#include <strings.h>

#include <climits>
#include <cstdlib>

#include "addon.h"
#include "flags.h"
#include "util/handle.h"
#include "values.h"

namespace fab {
namespace {

// version(): { number, header, string }, numbers as FI_VERSION has them.
Napi::Value version(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  auto result = Napi::Object::New(env);
  result.Set("number", fi_version());
  result.Set("header", FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION));
  char text[64] = "";
  fi_tostr_r(text, sizeof text, "", FI_TYPE_VERSION);
  result.Set("string", text);
  return result;
}

// libraryPath(): the file that fi_getinfo was resolved to.
Napi::Value libraryPath(const Napi::CallbackInfo& info) {
  Dl_info found = {};
  if (dladdr(reinterpret_cast<void*>(&fi_getinfo), &found) == 0 || found.dli_fname == nullptr) {
    return info.Env().Null();
  }
  char path[PATH_MAX];
  return Napi::String::New(info.Env(), realpath(found.dli_fname, path) ? path : found.dli_fname);
}

Napi::Value strerror(const Napi::CallbackInfo& info) {
  const uint64_t code = unsignedFromJs(info[0], "errno", INT_MAX);
  const char* text = fi_strerror(static_cast<int>(code));
  return Napi::String::New(info.Env(), text ? text : "");
}

bool sameName(const char* asked, const char* given) {
  return asked == nullptr || given == nullptr || strcasecmp(asked, given) == 0;
}

// The socket providers and shm answer whatever domain or fabric is asked for (seen in 1.17),
// against fi_getinfo(3).
bool hasAskedNames(const fi_info& entry, const fi_info* hints) {
  return hints == nullptr || entry.domain_attr == nullptr || entry.fabric_attr == nullptr ||
         (sameName(hints->domain_attr->name, entry.domain_attr->name) &&
          sameName(hints->fabric_attr->name, entry.fabric_attr->name));
}

// Where the hints know of prefix space, efa offers it to reliable endpoints too, which it does
// without by these very fields (1.17 to 2.3). Datagrams need it.
void declinePrefix(fi_info& entry) {
  if (entry.ep_attr == nullptr || entry.ep_attr->type == FI_EP_DGRAM) return;
  entry.mode &= ~FI_MSG_PREFIX;
  if (entry.tx_attr != nullptr) entry.tx_attr->mode &= ~FI_MSG_PREFIX;
  if (entry.rx_attr != nullptr) entry.rx_attr->mode &= ~FI_MSG_PREFIX;
  entry.ep_attr->msg_prefix_size = 0;
}

// getinfo(hints): [data, handle][]; empty where no provider matches.
Napi::Value getinfo(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const InfoRequest request = requestFromJs(info[0]);
  fi_info* head = nullptr;
  const int ret = fi_getinfo(request.version, request.node ? request.node->c_str() : nullptr,
                             request.service ? request.service->c_str() : nullptr, request.flags,
                             request.hints.get(), &head);
  auto entries = Napi::Array::New(env);
  if (ret == -FI_ENODATA) return entries;
  check(ret, "fi_getinfo");
  const std::shared_ptr<fi_info> list(head, InfoDeleter());
  uint32_t length = 0;
  for (fi_info* entry = head; entry != nullptr; entry = entry->next) {
    if (!hasAskedNames(*entry, request.hints.get())) continue;
    declinePrefix(*entry);
    auto pair = Napi::Array::New(env, 2);
    pair.Set(0u, infoToJs(env, *entry));
    auto handle = std::make_shared<Info>();
    handle->info = std::shared_ptr<fi_info>(list, entry);
    pair.Set(1u, wrapHandle(env, std::move(handle)));
    entries.Set(length++, pair);
  }
  return entries;
}

}  // namespace

void exportInfo(Napi::Object exports) {
  exportFunction<version>(exports, "version");
  exportFunction<libraryPath>(exports, "libraryPath");
  exportFunction<strerror>(exports, "strerror");
  exportFunction<getinfo>(exports, "getinfo");
  exportFlags(exports);
}

}  // namespace fab
