#pragma once

// The declarations of GDRCopy that libfabric needs to be built with it, from its documentation.
// libfabric looks the functions up at run time (--enable-gdrcopy-dlopen).
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define GPU_PAGE_SHIFT 16
#define GPU_PAGE_SIZE (1UL << GPU_PAGE_SHIFT)
typedef struct gdr* gdr_t;
typedef struct gdr_mh_s {
  unsigned long h;
} gdr_mh_t;
gdr_t gdr_open(void);
int gdr_close(gdr_t g);
int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token, uint32_t va_space,
                   gdr_mh_t* handle);
int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle);
int gdr_map(gdr_t g, gdr_mh_t handle, void** va, size_t size);
int gdr_unmap(gdr_t g, gdr_mh_t handle, void* va, size_t size);
int gdr_copy_to_mapping(gdr_mh_t handle, void* map_d_ptr, const void* h_ptr, size_t size);
int gdr_copy_from_mapping(gdr_mh_t handle, void* h_ptr, const void* map_d_ptr, size_t size);
#ifdef __cplusplus
}
#endif
