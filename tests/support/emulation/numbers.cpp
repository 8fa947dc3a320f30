//===- numbers.cpp - Special registers and numbers ------------------------===//

#include "simt.h"

#include <cmath>

using namespace simt;

//===----------------------------------------------------------------------===//
// Special registers
//===----------------------------------------------------------------------===//

INSTRUCTION(read_ptx_sreg_tid_x) { results[0].as<int32_t>() = getThread(); }
INSTRUCTION(mov_u32_tid_x) { results[0].as<int32_t>() = getThread(); }
INSTRUCTION(mov_u32) { results[0].as<int32_t>() = args[0].as<int32_t>(); }
INSTRUCTION(read_ptx_sreg_ctaid_x) {
  results[0].as<int32_t>() = getCtaOfDevice();
}
INSTRUCTION(mov_u32_ctaid_x) { results[0].as<int32_t>() = getCtaOfDevice(); }

/// A thread that reads the clock may be waiting for memory to change.
INSTRUCTION(read_ptx_sreg_globaltimer) {
  yield();
  results[0].as<int64_t>() = getClock();
}
INSTRUCTION(read_ptx_sreg_clock) {
  yield();
  results[0].as<int32_t>() = getClock();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The result is exact; a GPU has an error of some 2^-22.
INSTRUCTION(ex2_approx_f32) {
  results[0].as<float>() = std::exp2(args[0].as<float>());
}
INSTRUCTION(ex2_approx_ftz_f32) {
  float power = std::exp2(args[0].as<float>());
  results[0].as<float>() = std::fpclassify(power) == FP_SUBNORMAL ? 0 : power;
}
INSTRUCTION(rsqrt_approx_f) {
  results[0].as<float>() = 1 / std::sqrt(double(args[0].as<float>()));
}

/// Converts an 8-bit float with `mantissa` fraction bits.
static float decode(uint8_t bits, int mantissa, int bias, bool hasInfinity) {
  int exponent = (bits & 0x7f) >> mantissa;
  int fraction = bits & ((1 << mantissa) - 1);
  int most = 0x7f >> mantissa;
  float sign = bits & 0x80 ? -1 : 1;
  if (exponent == most && hasInfinity)
    return fraction ? NAN : sign * INFINITY;
  if (!hasInfinity && (bits & 0x7f) == 0x7f)
    return NAN;
  if (exponent == 0)
    return sign * std::ldexp(float(fraction), 1 - bias - mantissa);
  return sign * std::ldexp(float(fraction + (1 << mantissa)),
                           exponent - bias - mantissa);
}

template <typename Decode>
static void widenPair(Slot *args, Slot *results, const Decode &decode) {
  for (int i = 0; i < 2; ++i)
    (&results[0].as<_Float16>())[i] = decode((&args[0].as<uint8_t>())[i]);
}
INSTRUCTION(e4m3x2_to_f16x2_rn) {
  widenPair(args, results,
            [](uint8_t bits) { return decode(bits, 3, 7, false); });
}
INSTRUCTION(e5m2x2_to_f16x2_rn) {
  widenPair(args, results,
            [](uint8_t bits) { return decode(bits, 2, 15, true); });
}
