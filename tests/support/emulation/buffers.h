//===- buffers.h - Allocations of the emulated GPU --------------*- C++ -*-===//

#ifndef ARK_TESTS_EMULATION_BUFFERS_H
#define ARK_TESTS_EMULATION_BUFFERS_H

#include <cstdint>
#include <string>

namespace simt {

/// Memory that the driver has given, or that a kernel has as a variable.
struct Buffer {
  uintptr_t begin;
  int64_t bytes;
  /// Memory of the host that the GPU can access.
  bool isOfHost = false;
  bool isConstant = false;
  /// The GPU that has the memory, and the GPUs that may access it, as bits.
  int home = 0;
  uint32_t devices = ~0u;
};

/// The buffer that holds an address; null where there is none.
const Buffer *findBuffer(const void *address);

/// Says where an address lies that no buffer holds.
std::string describeAddress(const void *address);

} // namespace simt

#endif // ARK_TESTS_EMULATION_BUFFERS_H
