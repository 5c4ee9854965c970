// Work requests as the user of a device writes them into its send queue.
#include "../../native/softefa/decode.h"

#include "../../native/softefa/nic_address.h"
#include "support/fuzz.h"

using namespace softefa;

namespace {

// Handles of a device and of no device, and the number of one that has been destroyed.
struct Handles {
  AddressHandles all{NicAddress{0, 0}.key()};
  ibv_pd pd{};
  std::vector<AddressHandle*> open;

  Handles() {
    for (uint16_t node = 0; node < 3; ++node) {
      ibv_ah_attr attributes{};
      attributes.port_num = attributes.is_global = 1;
      attributes.grh.dgid = NicAddress{node, 1}.toGid();
      if (node == 1) attributes.grh.dgid.raw[0] = 0;
      open.push_back(all.create(&pd, attributes));
    }
    all.destroy(open.back());
    open.pop_back();
  }
  ~Handles() {
    for (AddressHandle* each : open) all.destroy(each);
  }
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static Handles handles;
  fuzz::Input input(data, size);
  const uint8_t options = input.take<uint8_t>();
  const uint32_t length = (options & 1) != 0 ? kLongSendSize : kSendSize;
  SendDescriptor descriptor;
  input.read(&descriptor, sizeof(descriptor));
  WorkRequest request;
  const Status status = decode(descriptor, length, options >> 1 & 1, handles.all, request);
  CLAIM(status == Status::kLocalQpInternalError || request.id == descriptor.head.requestId);
  if (status != Status::kOk) return 0;
  CLAIM(static_cast<uint8_t>(request.operation) < kWireOperations);
  CLAIM(request.sges <= kMaxSqSge);
  CLAIM(!request.inlined || (request.sges == 0 && request.length <= sizeof(request.data)));
  uint64_t total = request.inlined ? request.length : 0;
  for (uint32_t i = 0; i < request.sges; ++i) total += request.sge[i].length;
  CLAIM(total == request.length);
  return 0;
}
