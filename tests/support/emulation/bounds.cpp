//===- bounds.cpp - Checks of the bounds of accesses ----------------------===//

#include "buffers.h"
#include "memory.h"

#include <cstring>

using namespace simt;

void simt::checkBuffer(const char *access, const char *at, int64_t bytes) {
  const Buffer *buffer = findBuffer(at);
  if (!buffer) {
    if (isOnStack(at) && isOnStack(at + bytes - 1))
      return;
    fail("a %s of %ld bytes at %s", access, long(bytes),
         describeAddress(at).c_str());
  }
  if (uintptr_t(at) + bytes > buffer->begin + buffer->bytes)
    fail("a %s of %ld bytes at %p, the last %ld of them behind a buffer of %ld "
         "bytes",
         access, long(bytes), at,
         long(uintptr_t(at) + bytes - buffer->begin - buffer->bytes),
         long(buffer->bytes));
  if (!(buffer->devices >> getDevice() & 1))
    fail("a %s of %ld bytes of memory of GPU %d, which it may not access",
         access, long(bytes), buffer->home);
  if (buffer->isConstant && !strcmp(access, "store"))
    fail("a store of %ld bytes to a constant", long(bytes));
}

void simt::checkGlobal(const char *access, const void *at, int64_t bytes,
                       int64_t alignment) {
  auto begin = static_cast<const char *>(at);
  if (uintptr_t(begin) % alignment)
    fail("a %s of %ld bytes at %p, which is not aligned to %ld", access,
         long(bytes), begin, long(alignment));
  checkBuffer(access, begin, bytes);
}
