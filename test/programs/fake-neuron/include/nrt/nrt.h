#pragma once

// The declarations of the Neuron runtime that libfabric needs to be built with Neuron, from its
// documentation. libfabric looks the functions up at run time.
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef enum {
  NRT_SUCCESS = 0,
  NRT_FAILURE = 1,
  NRT_INVALID = 2,
  NRT_INVALID_HANDLE = 3,
  NRT_RESOURCE = 4,
  NRT_UNINITIALIZED = 13,
  NRT_CLOSED = 14
} NRT_STATUS;
typedef enum {
  NRT_TENSOR_PLACEMENT_DEVICE,
  NRT_TENSOR_PLACEMENT_HOST,
  NRT_TENSOR_PLACEMENT_VIRTUAL
} nrt_tensor_placement_t;
typedef enum { NRT_FRAMEWORK_TYPE_INVALID = 0, NRT_FRAMEWORK_TYPE_NO_FW = 1 } nrt_framework_type_t;
typedef struct nrt_tensor nrt_tensor_t;
NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int* fd);
#ifdef __cplusplus
}
#endif
