// A stand-in for NVIDIA's driver that accepts every call and does nothing, so
// that host_calls.py measures the time of the bindings alone. Handles are
// numbers, and an SM holds one CTA of any kernel.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { success = 0, sms = 132, versionOfCuda = 13000 };
// Values of CUdevice_attribute.
enum {
  multiprocessorCount = 16,
  computeCapabilityMajor = 75,
  computeCapabilityMinor = 76
};

static int nothing(void) { return success; }

static int one(int *value) {
  *value = 1;
  return success;
}

static int zero(int *value) {
  *value = 0;
  return success;
}

static int version(int *value) {
  *value = versionOfCuda;
  return success;
}

static int handle(void **value) {
  static uintptr_t last = 1 << 16;
  *value = (void *)(last += 256);
  return success;
}

static int hostMemory(void **value, size_t bytes, unsigned flags) {
  *value = malloc(bytes);
  return success;
}

static int handleOf(void *object, void **value) { return handle(value); }

static int zeroOf(void *object, int *value) { return zero(value); }

static int attribute(int *value, int key, int device) {
  *value = key == multiprocessorCount      ? sms
           : key == computeCapabilityMajor ? 9
           : key == computeCapabilityMinor ? 0
                                           : 1;
  return success;
}

static const struct {
  const char *name;
  void *function;
} functions[] = {
    {"cuDriverGetVersion", version},
    {"cuDeviceGetCount", one},
    {"cuDeviceGet", zero},
    {"cuDeviceGetAttribute", attribute},
    {"cuCtxGetDevice", zero},
    {"cuCtxGetCurrent", handle},
    {"cuDevicePrimaryCtxRetain", handle},
    {"cuStreamCreate", handle},
    {"cuStreamCreateWithPriority", handle},
    {"cuStreamGetCtx", handleOf},
    {"cuStreamGetDevice", zeroOf},
    {"cuStreamIsCapturing", zeroOf},
    {"cuEventCreate", handle},
    {"cuMemAlloc", handle},
    {"cuMemHostAlloc", hostMemory},
    {"cuModuleLoadData", handle},
    {"cuModuleGetFunction", handle},
    {"cuLibraryLoadData", handle},
    {"cuLibraryGetKernel", handle},
    {"cuKernelGetFunction", handle},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", one},
};

int cuGetProcAddress_v2(const char *name, void **function, int cuda,
                        uint64_t flags, int *status) {
  *function = nothing;
  if (status)
    *status = success;
  if (!strcmp(name, "cuGetProcAddress"))
    *function = cuGetProcAddress_v2;
  for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i)
    if (!strcmp(name, functions[i].name))
      *function = functions[i].function;
  return success;
}

int cuGetProcAddress(const char *name, void **function, int cuda,
                     uint64_t flags) {
  return cuGetProcAddress_v2(name, function, cuda, flags, 0);
}

int cuInit(unsigned flags) { return success; }

int cuDriverGetVersion(int *value) { return version(value); }
