//===- products.cpp - Matrix products of warps ----------------------------===//

#include "simt.h"

#include "widen.h"

using namespace simt;

/// LLVM calls these functions for truncations of f32, with rounding to nearest
/// even; some compiler runtime libraries lack them.
extern "C" __attribute__((weak)) __bf16 __truncsfbf2(float number) {
  uint32_t bits = __builtin_bit_cast(uint32_t, number);
  if (number != number)
    bits |= 1u << 22;
  else
    bits += 0x7fff + (bits >> 16 & 1);
  return __builtin_bit_cast(__bf16, uint16_t(bits >> 16));
}

/// The accumulators of a 16 by 8 tile, for operands of 16 by `depth` and
/// `depth` by 8. A thread has neighbouring elements along K, as many as a word
/// holds, of rows `inWarp / 4` and `inWarp / 4 + 8`.
template <typename T, int depth>
static void multiply(Slot *const *args, Slot *const *results) {
  using Sum = decltype(widen(T()));
  constexpr int perWord = 4 / sizeof(T), half = depth / 2;
  Sum a[16][depth], b[depth][8];
  for (int inWarp = 0; inWarp < kWarpSize; ++inWarp) {
    int group = inWarp / 4, first = inWarp % 4 * perWord;
    for (int i = 0; i < perWord; ++i) {
      for (int part = 0; part < 4; ++part)
        a[group + part % 2 * 8][first + part / 2 * half + i] =
            widen((&args[inWarp][part].as<T>())[i]);
      for (int part = 0; part < 2; ++part)
        b[first + part * half + i][group] =
            widen((&args[inWarp][4 + part].as<T>())[i]);
    }
  }
  for (int inWarp = 0; inWarp < kWarpSize; ++inWarp)
    for (int part = 0; part < 4; ++part) {
      int row = inWarp / 4 + part / 2 * 8, column = inWarp % 4 * 2 + part % 2;
      Sum sum = args[inWarp][6 + part].as<Sum>();
      for (int k = 0; k < depth; ++k)
        sum += a[row][k] * b[k][column];
      results[inWarp][part].as<Sum>() = sum;
    }
}

INSTRUCTION(mma_m16n8k16_row_col_bf16) {
  convergeWarp(~0u, "mma.bf16", args, results, multiply<__bf16, 16>);
}
INSTRUCTION(mma_m16n8k16_row_col_f32_f32) {
  convergeWarp(~0u, "mma.f16", args, results, multiply<_Float16, 16>);
}
INSTRUCTION(mma_m16n8k32_row_col_s8) {
  convergeWarp(~0u, "mma.s8", args, results, multiply<int8_t, 32>);
}
