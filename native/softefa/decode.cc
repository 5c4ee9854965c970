#include "decode.h"

#include <endian.h>

#include <algorithm>
#include <cstring>

#include "device_attributes.h"

namespace softefa {
namespace {

using Head = SendHead;

bool isDescriptor(const Head& head, uint32_t phase) {
  return Head::kIsHead.of(head.kind) != 0 && Head::kExtension.of(head.kind) == 0 &&
         Head::kFirst.of(head.flow) != 0 && Head::kLast.of(head.flow) != 0 &&
         Head::kPhase.of(head.flow) == phase;
}

Status takeInline(const uint8_t* data, uint32_t room, WorkRequest& request) {
  if (request.length > std::min<size_t>(room, sizeof(request.data))) return Status::kLocalBadLength;
  request.inlined = true;
  std::memcpy(request.data, data, request.length);
  return Status::kOk;
}

Status takeSegments(const SendSegment* segments, uint32_t count, uint32_t most,
                    WorkRequest& request) {
  if (count > most) return Status::kLocalBadLength;
  uint64_t length = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const SendSegment& segment = segments[i];
    request.sge[i] = {segment.address(), segment.length, SendSegment::kLkey.of(segment.key)};
    length += segment.length;
  }
  request.sges = static_cast<uint8_t>(count);
  request.length = static_cast<uint32_t>(length);
  return length > UINT32_MAX ? Status::kLocalBadLength : Status::kOk;
}

}  // namespace

Status decode(const SendDescriptor& descriptor, uint32_t size, uint32_t phase,
              AddressHandles& handles, WorkRequest& request) {
  const Head& head = descriptor.head;
  const SendBody& body = descriptor.body;
  request.id = head.requestId;
  if (!isDescriptor(head, phase)) return Status::kLocalQpInternalError;
  request.signaled = Head::kSignaled.of(head.flow) != 0;
  const uint8_t operation = Head::kOperation.of(head.kind);
  if (operation >= kWireOperations) return Status::kLocalUnsupportedOp;
  request.operation = static_cast<Operation>(operation);
  request.hasImmediate = Head::kHasImmediate.of(head.kind) != 0;
  request.immediate = htobe32(head.immediate);
  request.qpn = head.remoteQpn;
  request.qkey = head.qkey;
  const auto destination = handles.destinationOf(head.addressHandle);
  if (!destination) return Status::kLocalInvalidAh;
  request.destination = *destination;

  const bool inlined = Head::kInline.of(head.kind) != 0;
  const bool isLong = size == kLongSendSize;
  request.length = head.length;
  if (request.operation == Operation::kSend) {
    return inlined ? takeInline(body.inlined, isLong ? kMaxInlineWide : kMaxInline, request)
                   : takeSegments(body.segments, head.length, kMaxSqSge, request);
  }
  request.rkey = body.access.remote.key;
  request.remoteAddress = body.access.remote.address();
  Status status;
  if (!inlined) {
    status = takeSegments(&body.access.local, head.length, 1, request);
  } else if (isLong && request.operation == Operation::kWrite) {
    status = takeInline(body.inlined + sizeof(body.access.remote), kMaxInlineWide, request);
  } else {
    status = Status::kLocalUnsupportedOp;
  }
  const bool agrees = request.length == body.access.remote.length;
  return status == Status::kOk && !agrees ? Status::kLocalBadLength : status;
}

}  // namespace softefa
