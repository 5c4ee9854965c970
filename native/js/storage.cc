// Files of object stores, and checksums: native/storage/.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "../storage/beneath.h"
#include "../storage/crc64.h"
#include "../storage/object_file.h"
#include "addon.h"
#include "backing_store.h"
#include "exports.h"
#include "promise_work.h"
#include "values.h"

namespace fab {

namespace {

constexpr size_t kMaxPath = 4096;
constexpr uint64_t kMaxInline = 1 << 24;
constexpr uint64_t kMaxOffset = uint64_t{1} << 53;

int descriptorFromJs(const Napi::Value& value, const char* what) {
  return static_cast<int>(unsignedFromJs(value, what, INT32_MAX));
}

Napi::Uint8Array storageBytes(const Napi::Value& value) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array)
    throwInvalidType("bytes", "a Uint8Array", value);
  return value.As<Napi::Uint8Array>();
}

Napi::Value objectToJs(Napi::Env env, const ObjectFile& file, const Napi::Value& bytes) {
  if (file.error != 0) return Napi::Number::New(env, -file.error);
  auto object = Napi::Object::New(env);
  object.Set("fd", file.fd);
  object.Set("size", static_cast<double>(file.size));
  object.Set("modified", file.modified);
  object.Set("inode", static_cast<double>(file.inode));
  object.Set("checksum", file.checksum);
  object.Set("bytes", bytes);
  return object;
}

ObjectQuery queryFromJs(const Napi::CallbackInfo& args, bool now) {
  ObjectQuery query{};
  query.root = descriptorFromJs(args[0], "root");
  query.path = stringFromJs(args[1], "path", kMaxPath);
  const bool described = args[2].IsNull();
  query.inlined =
      described ? -1 : static_cast<int64_t>(unsignedFromJs(args[2], "inlined", kMaxInline));
  query.checksum = args[3].ToBoolean();
  query.now = now;
  return query;
}

class ReadObject final : public PromiseWork {
 public:
  ReadObject(Napi::Env env, ObjectQuery query) : PromiseWork(env), query_(std::move(query)) {}
  ~ReadObject() override { closeObject(file_); }  // nobody has got it

 protected:
  void Execute() override {
    try {
      file_ = readObject(query_, [this](uint64_t size) {
        bytes_.resize(size);
        hasBytes_ = true;
        return bytes_.data();
      });
    } catch (const std::bad_alloc&) {
      closeObject(file_);
      file_.error = ENOMEM;
    }
  }

  Napi::Value finish() override {
    Napi::Value bytes = Env().Null();
    if (hasBytes_ && file_.error == 0)
      bytes = Napi::Buffer<uint8_t>::Copy(Env(), bytes_.data(), bytes_.size());
    const Napi::Value object = objectToJs(Env(), file_, bytes);
    file_.fd = -1;
    return object;
  }

 private:
  ObjectQuery query_;
  ObjectFile file_;
  std::vector<uint8_t> bytes_;
  bool hasBytes_ = false;
};

// storageRead(root, path, inlined, checksum): Promise<object | -errno>
Napi::Value storageRead(const Napi::CallbackInfo& args) {
  return PromiseWork::start<ReadObject>(args.Env(), queryFromJs(args, false));
}

// storageReadNow(root, path, inlined, checksum, room): object | -errno
Napi::Value storageReadNow(const Napi::CallbackInfo& args) {
  const ObjectQuery query = queryFromJs(args, true);
  const Napi::Value null = args.Env().Null();
  if (!args[4].IsNull()) {
    Napi::Uint8Array room = storageBytes(args[4]);
    if (query.inlined > static_cast<int64_t>(room.ByteLength()))
      throwOutOfRange("inlined", "at most the length of the room", args[2]);
    return objectToJs(args.Env(), readObject(query, [&](uint64_t) { return room.Data(); }), null);
  }
  Napi::Value bytes = null;
  const ObjectFile file = readObject(query, [&](uint64_t size) {
    auto buffer = Napi::ArrayBuffer::New(args.Env(), size);
    bytes = Napi::Uint8Array::New(args.Env(), size, buffer, 0);
    return static_cast<uint8_t*>(buffer.Data());
  });
  return objectToJs(args.Env(), file, bytes);
}

// storageFolder(root, path, create): fd | -errno
Napi::Value storageFolder(const Napi::CallbackInfo& args) {
  const int fd = openFolderBeneath(descriptorFromJs(args[0], "root"),
                                   stringFromJs(args[1], "path", kMaxPath), args[2].ToBoolean());
  return Napi::Number::New(args.Env(), fd);
}

// closeDescriptor(fd): 0 | -errno
Napi::Value closeDescriptor(const Napi::CallbackInfo& args) {
  // close(2) has released the descriptor also if it fails.
  const int result = close(descriptorFromJs(args[0], "fd"));
  return Napi::Number::New(args.Env(), result == 0 ? 0 : -errno);
}

// storageSetChecksum(fd, text): 0 | -errno
Napi::Value storageSetChecksum(const Napi::CallbackInfo& args) {
  constexpr size_t kMost = 256;
  const int error =
      setChecksum(descriptorFromJs(args[0], "fd"), stringFromJs(args[1], "text", kMost));
  return Napi::Number::New(args.Env(), error);
}

class Crc64OfBytes final : public PromiseWork {
 public:
  Crc64OfBytes(Napi::Env env, Napi::Uint8Array view, uint64_t before)
      : PromiseWork(env),
        backing_(backingOf(env, view.Get("buffer"), "buffer")),
        reference_(Napi::Persistent(view.As<Napi::Object>())),
        bytes_(view.Data()),
        length_(view.ByteLength()),
        crc_(before) {}

 protected:
  void Execute() override { crc_ = crc64(crc_, bytes_, length_); }
  Napi::Value finish() override { return Napi::BigInt::New(Env(), crc_); }

 private:
  Backing backing_;
  Napi::ObjectReference reference_;
  const uint8_t* bytes_;
  size_t length_;
  uint64_t crc_;
};

// crc64(bytes, before): Promise<bigint>
Napi::Value crc64OffLoop(const Napi::CallbackInfo& args) {
  return PromiseWork::start<Crc64OfBytes>(args.Env(), storageBytes(args[0]),
                                          unsignedFromJs(args[1], "before"));
}

// crc64Now(bytes, before): bigint
Napi::Value crc64Now(const Napi::CallbackInfo& args) {
  const Napi::Uint8Array view = storageBytes(args[0]);
  return Napi::BigInt::New(
      args.Env(), crc64(unsignedFromJs(args[1], "before"), view.Data(), view.ByteLength()));
}

// crc64Portable(bytes, before): bigint. For tests.
Napi::Value crc64WithTables(const Napi::CallbackInfo& args) {
  const Napi::Uint8Array view = storageBytes(args[0]);
  return Napi::BigInt::New(
      args.Env(), crc64Portable(unsignedFromJs(args[1], "before"), view.Data(), view.ByteLength()));
}

// crc64Combine(first, second, lengthOfSecond): bigint
Napi::Value crc64Combined(const Napi::CallbackInfo& args) {
  return Napi::BigInt::New(
      args.Env(), crc64Combine(unsignedFromJs(args[0], "first"), unsignedFromJs(args[1], "second"),
                               unsignedFromJs(args[2], "lengthOfSecond", kMaxOffset)));
}

class Crc64OfFile final : public PromiseWork {
 public:
  Crc64OfFile(Napi::Env env, int fd, uint64_t start, uint64_t end)
      : PromiseWork(env), fd_(fd), start_(start), end_(end) {}

 protected:
  void Execute() override {
    try {
      crc_ = crc64OfFile(fd_, start_, end_, error_);
    } catch (const std::bad_alloc&) {
      error_ = ENOMEM;
    }
  }
  Napi::Value finish() override {
    if (error_ != 0) return Napi::Number::New(Env(), -error_);
    return Napi::BigInt::New(Env(), crc_);
  }

 private:
  int fd_;
  uint64_t start_;
  uint64_t end_;
  uint64_t crc_ = 0;
  int error_ = 0;
};

// crc64File(fd, start, end): Promise<bigint | -errno>
Napi::Value crc64File(const Napi::CallbackInfo& args) {
  const uint64_t end = unsignedFromJs(args[2], "end", kMaxOffset);
  return PromiseWork::start<Crc64OfFile>(args.Env(), descriptorFromJs(args[0], "fd"),
                                         unsignedFromJs(args[1], "start", end), end);
}

}  // namespace

void exportStorage(Napi::Object exports) {
  exportFunction<storageRead>(exports, "storageRead");
  exportFunction<storageReadNow>(exports, "storageReadNow");
  exportFunction<storageFolder>(exports, "storageFolder");
  exportFunction<closeDescriptor>(exports, "closeDescriptor");
  exportFunction<storageSetChecksum>(exports, "storageSetChecksum");
  exportFunction<crc64OffLoop>(exports, "crc64");
  exportFunction<crc64Now>(exports, "crc64Now");
  exportFunction<crc64WithTables>(exports, "crc64Portable");
  exportFunction<crc64Combined>(exports, "crc64Combine");
  exportFunction<crc64File>(exports, "crc64File");
}

}  // namespace fab
