//===- products.cpp - Matrix products -------------------------------------===//

#include "instructions.h"

using namespace simt;

//===----------------------------------------------------------------------===//
// Matrix products of warps
//===----------------------------------------------------------------------===//

static float widen(__bf16 number) {
  uint32_t bits = uint32_t(__builtin_bit_cast(uint16_t, number)) << 16;
  return __builtin_bit_cast(float, bits);
}
static float widen(_Float16 number) { return number; }

/// What LLVM calls for truncations of f32, to nearest even; not all libraries
/// of compilers have it.
extern "C" __attribute__((weak)) __bf16 __truncsfbf2(float number) {
  uint32_t bits = __builtin_bit_cast(uint32_t, number);
  if (number != number)
    bits |= 1u << 22;
  else
    bits += 0x7fff + (bits >> 16 & 1);
  return __builtin_bit_cast(__bf16, uint16_t(bits >> 16));
}

/// The sums of 16 by 8, of factors of 16 by 16 and 16 by 8. A lane has two
/// neighbours of rows `lane / 4` and `lane / 4 + 8`.
template <typename T>
static void multiply(Slot *const *args, Slot *const *results) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    int group = lane / 4, pair = lane % 4 * 2;
    for (int i = 0; i < 2; ++i) {
      for (int part = 0; part < 4; ++part)
        a[group + part % 2 * 8][pair + part / 2 * 8 + i] =
            widen((&args[lane][part].as<T>())[i]);
      for (int part = 0; part < 2; ++part)
        b[pair + part * 8 + i][group] =
            widen((&args[lane][4 + part].as<T>())[i]);
    }
  }
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (int part = 0; part < 4; ++part) {
      int row = lane / 4 + part / 2 * 8, column = lane % 4 * 2 + part % 2;
      float sum = args[lane][6 + part].as<float>();
      for (int k = 0; k < 16; ++k)
        sum += a[row][k] * b[k][column];
      results[lane][part].as<float>() = sum;
    }
}

INSTRUCTION(mma_m16n8k16_row_col_bf16) {
  meetWarp(~0u, "mma.bf16", args, results, multiply<__bf16>);
}
INSTRUCTION(mma_m16n8k16_row_col_f32_f32) {
  meetWarp(~0u, "mma.f16", args, results, multiply<_Float16>);
}

//===----------------------------------------------------------------------===//
// Matrix products of warpgroups
//===----------------------------------------------------------------------===//

namespace {
/// A factor in shared memory: rows along the depth, in parts of eight rows.
struct Factor {
  explicit Factor(uint64_t descriptor) {
    begin = (descriptor & 0x3fff) << 4;
    perDepth = (descriptor >> 16 & 0x3fff) << 4;
    perRows = (descriptor >> 32 & 0x3fff) << 4;
    swizzle = descriptor >> 62;
  }

  /// Rows of 128, 64 or 32 bytes are stored with their pieces of 16 bytes
  /// mixed; without that, each of them comes after the same one of the row
  /// before.
  char *find(int row, int k, int bytes) const {
    int64_t place = begin + row / 8 * perRows;
    if (swizzle == 0) {
      int perPiece = 16 / bytes;
      place += row % 8 * 16 + k / perPiece * perDepth + k % perPiece * bytes;
    } else {
      place += row % 8 * (256 >> swizzle) + k * bytes;
      place ^= (place >> 7 & ((16 >> swizzle) - 1)) << 4;
    }
    if (place < 0 || place >= kSharedBytes)
      fail("thread %d: a factor at %ld, outside of shared memory", getThread(),
           place);
    return getShared() + place;
  }

  int64_t begin, perDepth, perRows;
  int swizzle;
};
} // namespace

/// The sums that a thread has of 64 by `columns`. They are there at once, and
/// not when they are waited for.
template <typename T>
static void multiplyByWarpgroup(int columns, Slot *args, Slot *results) {
  int count = columns / 2;
  Factor left(args[count].as<uint64_t>()),
      right(args[count + 1].as<uint64_t>());
  bool adds = args[count + 2].as<int32_t>();
  for (int i = 0; i < 4; ++i)
    if (args[count + 3 + i].as<int32_t>() != (i < 2))
      fail("thread %d: a factor is transposed or negated", getThread());
  syncWarp(~0u, "wgmma");
  int lane = getThread() % kWarpSize;
  int firstRow = getThread() / kWarpSize % 4 * 16 + lane / 4;
  for (int i = 0; i < count; ++i) {
    int row = firstRow + i / 2 % 2 * 8,
        column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    float sum = adds ? args[i].as<float>() : 0;
    for (int k = 0; k < 16; ++k)
      sum += widen(*reinterpret_cast<T *>(left.find(row, k, sizeof(T)))) *
             widen(*reinterpret_cast<T *>(right.find(column, k, sizeof(T))));
    results[i].as<float>() = sum;
  }
}

INSTRUCTION(wgmma_bf16) {
  multiplyByWarpgroup<__bf16>(args[0].as<int32_t>(), args + 1, results);
}
INSTRUCTION(wgmma_f16) {
  multiplyByWarpgroup<_Float16>(args[0].as<int32_t>(), args + 1, results);
}
INSTRUCTION(wgmma_fence_sync_aligned) {}
INSTRUCTION(wgmma_commit_group_sync_aligned) {}
INSTRUCTION(wgmma_wait_group_sync_aligned) {
  syncWarp(~0u, "wgmma.wait_group");
}
