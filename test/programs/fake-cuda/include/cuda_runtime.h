#pragma once
#include "cuda.h"
typedef int cudaError_t;
enum {
  cudaSuccess = 0,
  cudaErrorNoDevice = 100,
  cudaErrorAlreadyMapped = 208,
  cudaErrorNotReady = 600
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
typedef struct {
  char reserved[64];
} cudaIpcMemHandle_t;
enum { cudaHostRegisterDefault = 0, cudaIpcMemLazyEnablePeerAccess = 1, cudaHostAllocDefault = 0 };
