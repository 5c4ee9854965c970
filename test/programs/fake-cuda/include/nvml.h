#pragma once
typedef int nvmlReturn_t;
enum { NVML_SUCCESS = 0 };
