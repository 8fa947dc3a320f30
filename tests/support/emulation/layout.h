//===- layout.h - Addresses of the memory of a GPU --------------*- C++ -*-===//
//
// lower.py holds the same numbers; its code accesses these arrays directly.

#ifndef ARK_TESTS_EMULATION_LAYOUT_H
#define ARK_TESTS_EMULATION_LAYOUT_H

#include <cstdint>

namespace simt {

/// Global memory, and a number for each of its words of four bytes: 0 outside
/// of buffers, 1 in a buffer, 2 if a buffer contains only a part of the word,
/// and otherwise the number of the word's newest version.
constexpr uintptr_t kArena = 0x100000000000, kArenaBytes = 0x30000000000;
constexpr uintptr_t kShadow = 0x180000000000;
constexpr uint32_t kOutside = 0, kWhole = 1, kPartial = 2;

/// Shared memory of the CTA whose turn it is.
constexpr uintptr_t kWindow = 0x1c0000000000, kWindowBytes = 0x40000;

inline bool isGlobal(const void *address) {
  return uintptr_t(address) - kArena < kArenaBytes;
}
inline bool isShared(const void *address) {
  return uintptr_t(address) - kWindow < kWindowBytes;
}
inline uint32_t &getShadow(const void *address) {
  return *reinterpret_cast<uint32_t *>(
      kShadow + ((uintptr_t(address) - kArena) & ~uintptr_t(3)));
}

} // namespace simt

#endif // ARK_TESTS_EMULATION_LAYOUT_H
