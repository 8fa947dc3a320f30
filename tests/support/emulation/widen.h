//===- widen.h - Numbers of 16 bits -----------------------------*- C++ -*-===//

#ifndef ARK_TESTS_EMULATION_WIDEN_H
#define ARK_TESTS_EMULATION_WIDEN_H

#include <cstdint>

namespace simt {

inline float widen(__bf16 number) {
  uint32_t bits = uint32_t(__builtin_bit_cast(uint16_t, number)) << 16;
  return __builtin_bit_cast(float, bits);
}
inline float widen(_Float16 number) { return number; }

} // namespace simt

#endif // ARK_TESTS_EMULATION_WIDEN_H
