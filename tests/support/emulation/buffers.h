//===- buffers.h - Allocations of the emulated GPU --------------*- C++ -*-===//

#ifndef ARK_TESTS_EMULATION_BUFFERS_H
#define ARK_TESTS_EMULATION_BUFFERS_H

#include <cstdint>
#include <string>

namespace simt {

/// Memory that the driver has allocated, or a variable of a kernel.
struct Buffer {
  uintptr_t begin;
  int64_t bytes;
  /// Memory of the host that the GPU can access.
  bool isOfHost = false;
  bool isConstant = false;
  /// The GPU that owns the memory, and the GPUs that may access it, as bits.
  int home = 0;
  uint32_t devices = ~0u;
};

/// Returns the buffer that holds an address, or null.
const Buffer *findBuffer(const void *address);

/// Describes an address that is in no buffer.
std::string describeAddress(const void *address);

} // namespace simt

#endif // ARK_TESTS_EMULATION_BUFFERS_H
