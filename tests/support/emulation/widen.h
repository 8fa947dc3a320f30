//===- widen.h - Numbers of 8 and 16 bits ----------------------*- C++ -*-===//

#ifndef ARK_TESTS_EMULATION_WIDEN_H
#define ARK_TESTS_EMULATION_WIDEN_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace simt {

inline float widen(__bf16 number) {
  uint32_t bits = uint32_t(__builtin_bit_cast(uint16_t, number)) << 16;
  return __builtin_bit_cast(float, bits);
}
inline float widen(_Float16 number) { return number; }

/// A float of 8 bits of OCP: e5m2 has infinities, and e4m3 has only NaN.
template <int exponentBits>
struct Float8 {
  uint8_t bits;
};
using E4M3 = Float8<4>;
using E5M2 = Float8<5>;

template <int exponentBits>
float widen(Float8<exponentBits> number) {
  constexpr int fractionBits = 7 - exponentBits;
  constexpr int bias = (1 << (exponentBits - 1)) - 1;
  constexpr int most = (1 << exponentBits) - 1;
  int exponent = number.bits >> fractionBits & most;
  int fraction = number.bits & ((1 << fractionBits) - 1);
  float sign = number.bits >> 7 ? -1 : 1;
  if (exponent == most && (exponentBits == 5 || fraction == 7))
    return fraction ? NAN : sign * INFINITY;
  int leading = exponent ? 1 << fractionBits : 0;
  return sign * std::ldexp(float(leading + fraction),
                           std::max(exponent, 1) - bias - fractionBits);
}

/// Sums of integers of 8 bits wrap at 32 bits.
inline uint32_t widen(int8_t number) { return int32_t(number); }

} // namespace simt

#endif // ARK_TESTS_EMULATION_WIDEN_H
