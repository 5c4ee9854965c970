#include "../providers/info.h"

#include <dlfcn.h>
#include <strings.h>

#include <climits>
#include <cstdlib>
#include <vector>

#include "../objects/shared_query.h"
#include "../providers/queue_sizes.h"
#include "addon.h"
#include "exports.h"
#include "flags_js.h"
#include "handle.h"
#include "info_js.h"
#include "values.h"

namespace fab {
namespace {

// version(): { number, header, api, string }; the numbers are in the format of FI_VERSION.
Napi::Value version(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  auto result = Napi::Object::New(env);
  result.Set("number", fi_version());
  result.Set("header", kHeaders);
  result.Set("api", apiVersion());
  result.Set("string", releaseText());
  return result;
}

// libraryPath(): the file that provides fi_getinfo.
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

// Whether an entry has the requested domain and fabric. The socket providers and shm ignore these
// hints (seen in 1.17), contrary to fi_getinfo(3).
bool hasAskedNames(const fi_info& entry, const fi_info* hints) {
  return hints == nullptr || entry.domain_attr == nullptr || entry.fabric_attr == nullptr ||
         (sameName(hints->domain_attr->name, entry.domain_attr->name) &&
          sameName(hints->fabric_attr->name, entry.fabric_attr->name));
}

}  // namespace

void withoutPrefix(fi_info& info) {
  info.mode &= ~FI_MSG_PREFIX;
  if (info.tx_attr != nullptr) info.tx_attr->mode &= ~FI_MSG_PREFIX;
  if (info.rx_attr != nullptr) info.rx_attr->mode &= ~FI_MSG_PREFIX;
  if (info.ep_attr != nullptr) info.ep_attr->msg_prefix_size = 0;
}

namespace {

// Calls fi_getinfo(3). Returns null if no provider matches.
std::shared_ptr<fi_info> ask(const InfoRequest& request) {
  fi_info* head = nullptr;
  const int ret = queryBesideEngines([&] {
    return fi_getinfo(request.version, request.node ? request.node->c_str() : nullptr,
                      request.service ? request.service->c_str() : nullptr, request.flags,
                      request.hints.get(), &head);
  });
  if (ret == -FI_ENODATA) return nullptr;
  check(ret, "fi_getinfo");
  return {head, InfoDeleter()};
}

// Copies the traffic class of the hints into the entry. efa (2.1 to 2.6) reads the traffic class of
// an endpoint from its entry, but does not copy it there from the hints.
void keepTrafficClass(fi_info& entry, const fi_info* hints) {
  if (hints == nullptr || entry.tx_attr == nullptr) return;
  if (entry.tx_attr->tclass == FI_TC_UNSPEC) entry.tx_attr->tclass = hints->tx_attr->tclass;
}

// The entries for hints. For some providers, queues are larger than the hints request, because the
// sizes in hints are minima.
std::shared_ptr<fi_info> entriesFor(InfoRequest& request) {
  auto list = ask(request);
  if (!request.hints) return list;
  size_t& sends = request.hints->tx_attr->size;
  size_t& receives = request.hints->rx_attr->size;
  if ((sends == 0 && receives == 0) || !queue_sizes::areTooSmall(list.get())) return list;
  sends = receives = 0;
  queue_sizes::raise(list.get(), ask(request).get());
  return list;
}

// [data, handle] of an entry. The handle keeps the whole list alive.
Napi::Array entryToJs(Napi::Env env, const std::shared_ptr<fi_info>& list, fi_info* entry) {
  auto pair = Napi::Array::New(env, 2);
  pair.Set(0u, infoToJs(env, *entry));
  auto handle = std::make_shared<Info>();
  handle->info = std::shared_ptr<fi_info>(list, entry);
  pair.Set(1u, wrapHandle(env, std::move(handle)));
  return pair;
}

// getinfo(hints): [data, handle][]; empty if no provider matches.
Napi::Value getinfo(const Napi::CallbackInfo& info) {
  InfoRequest request = requestFromJs(info[0]);
  const auto list = entriesFor(request);
  auto entries = Napi::Array::New(info.Env());
  for (fi_info* entry = list.get(); entry != nullptr; entry = entry->next) {
    if (!hasAskedNames(*entry, request.hints.get())) continue;
    keepTrafficClass(*entry, request.hints.get());
    // Hints without an endpoint type ask for prefix space, because datagrams may need it.
    if (entry->ep_attr != nullptr && entry->ep_attr->type != FI_EP_DGRAM) withoutPrefix(*entry);
    entries.Set(entries.Length(), entryToJs(info.Env(), list, entry));
  }
  return entries;
}

// query(hints): like getinfo, but with the hints of fi_info(1), and with the entries unchanged.
Napi::Value query(const Napi::CallbackInfo& info) {
  const auto list = ask(queryFromJs(info[0]));
  auto entries = Napi::Array::New(info.Env());
  for (fi_info* entry = list.get(); entry != nullptr; entry = entry->next) {
    entries.Set(entries.Length(), entryToJs(info.Env(), list, entry));
  }
  return entries;
}

// infoToString(handle): libfabric's own text for an entry.
Napi::Value infoToString(const Napi::CallbackInfo& info) {
  const auto entry = unwrap<Info>(info[0]);
  // An entry takes 3 to 5 KB.
  std::vector<char> text(size_t{1} << 16);
  fi_tostr_r(text.data(), text.size(), entry->info.get(), FI_TYPE_INFO);
  return Napi::String::New(info.Env(), text.data());
}

struct ParamsDeleter {
  void operator()(fi_param* params) const { fi_freeparams(params); }
};

// getparams(): { name, type, helpString, value }[]
Napi::Value getparams(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  fi_param* first = nullptr;
  int count = 0;
  check(fi_getparams(&first, &count), "fi_getparams");
  const std::unique_ptr<fi_param, ParamsDeleter> params(first);
  auto list = Napi::Array::New(env);
  for (int i = 0; i < count; ++i) {
    const fi_param& param = first[i];
    auto object = Napi::Object::New(env);
    object.Set("name", param.name);
    object.Set("type", enumToJs(env, kParamTypes, param.type));
    object.Set("helpString", param.help_string);
    object.Set("value", env.Null());
    if (param.value != nullptr) object.Set("value", param.value);
    object.Freeze();
    list.Set(list.Length(), object);
  }
  return list;
}

}  // namespace

void exportInfo(Napi::Object exports) {
  exportFunction<version>(exports, "version");
  exportFunction<libraryPath>(exports, "libraryPath");
  exportFunction<strerror>(exports, "strerror");
  exportFunction<getinfo>(exports, "getinfo");
  exportFunction<query>(exports, "query");
  exportFunction<infoToString>(exports, "infoToString");
  exportFunction<getparams>(exports, "getparams");
  exportFlags(exports);
}

}  // namespace fab
