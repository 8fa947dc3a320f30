//===- amd.cpp - Instructions of AMD GPUs ---------------------------------===//
//
// The layouts of matrix instructions are those of AMD's ISA documents. They are
// written down here a second time, and not taken from the facts of the
// compiler.

#include "simt.h"

#include "copies.h"
#include "memory.h"
#include "widen.h"

#include <cmath>

using namespace simt;

/// All threads of a warp. The emulation does not know which threads of a warp
/// are active, so instructions of whole warps need all of them.
static uint64_t getWholeWarp() { return ~uint64_t(0) >> (64 - getWarpSize()); }

INSTRUCTION(amdgcn_workitem_id_x) { results[0].as<int32_t>() = getThread(); }
INSTRUCTION(amdgcn_workgroup_id_x) {
  results[0].as<int32_t>() = getCtaOfDevice();
}

INSTRUCTION(amdgcn_s_barrier) {
  if (!isDropped())
    syncCta(false);
}

/// Waits until at most some stores and loads of the wave are outstanding: bits
/// 0 to 3, 14 and 15 are their count (vmcnt). Loads to LDS end in order. Stores
/// may arrive in any order, so that a wait for fewer than all has no effect on
/// them here. The other counters are those of LDS and of exports.
INSTRUCTION(amdgcn_s_waitcnt) {
  if (isDropped())
    return;
  uint32_t bits = args[0].as<uint32_t>();
  int most = (bits & 15) | (bits >> 14 & 3) << 4;
  waitForWarpCopies(most);
  if (most == 0)
    waitForStores();
}

/// Each thread reads 16 bytes, and the threads of a wave write neighbouring
/// ones. The offset counts for both addresses. LLVM takes the address of LDS
/// from the first thread.
INSTRUCTION(amdgcn_global_load_lds) {
  constexpr int kBytes = 16;
  if (int bytes = args[2].as<int32_t>(); bytes != kBytes)
    fail("a load of %d bytes to LDS; only gfx950 has one, of %d bytes", bytes,
         kBytes);
  convergeWarp(getWholeWarp(), "global_load_lds", args, results,
               [](Slot *const *args, Slot *const *) {
                 for (int inWarp = 0; inWarp < getWarpSize(); ++inWarp)
                   if (args[inWarp][1].as<char *>() != args[0][1].as<char *>())
                     fail(
                         "the threads of a wave load to different addresses of "
                         "LDS");
               });
  int offset = args[3].as<int32_t>();
  startWarpCopy(args[1].as<char *>() + offset +
                    kBytes * (getThread() % getWarpSize()),
                args[0].as<const char *>() + offset);
}

/// Binds only LLVM's scheduler.
INSTRUCTION(amdgcn_sched_barrier) {}

INSTRUCTION(amdgcn_s_sleep) { yield(); }

/// The result is exact; a GPU has an error of one unit in the last place.
INSTRUCTION(amdgcn_exp2_f32) {
  float power = std::exp2(args[0].as<float>());
  results[0].as<float>() = std::fpclassify(power) == FP_SUBNORMAL ? 0 : power;
}

/// A counter of 100 MHz.
INSTRUCTION(amdgcn_s_memrealtime) {
  results[0].as<int64_t>() = getClock() / 10;
}

INSTRUCTION(amdgcn_ballot_i64) {
  convergeWarp(getWholeWarp(), "ballot", args, results,
               [](Slot *const *args, Slot *const *results) {
                 uint64_t votes = 0;
                 for (int inWarp = 0; inWarp < getWarpSize(); ++inWarp)
                   votes |= uint64_t(args[inWarp][0].as<bool>()) << inWarp;
                 for (int inWarp = 0; inWarp < getWarpSize(); ++inWarp)
                   results[inWarp][0].as<uint64_t>() = votes;
               });
}

/// Threads may read the first lane in a branch that some of them skip. The
/// kernel applies the instruction only to numbers that all active threads have
/// in common, so that each thread takes its own.
INSTRUCTION(amdgcn_readfirstlane_i32) {
  results[0].as<int32_t>() = args[0].as<int32_t>();
}
INSTRUCTION(amdgcn_readfirstlane_i64) {
  results[0].as<int64_t>() = args[0].as<int64_t>();
}
INSTRUCTION(amdgcn_readfirstlane_p0) {
  amdgcn_readfirstlane_i64(args, results);
}
INSTRUCTION(amdgcn_readfirstlane_p1) {
  amdgcn_readfirstlane_i64(args, results);
}
INSTRUCTION(amdgcn_readfirstlane_p3) {
  amdgcn_readfirstlane_i64(args, results);
}

/// Selects bytes: 0 to 3 are those of the second operand, 4 to 7 those of the
/// first one.
INSTRUCTION(amdgcn_perm) {
  uint64_t bytes =
      uint64_t(args[0].as<uint32_t>()) << 32 | args[1].as<uint32_t>();
  uint32_t selection = args[2].as<uint32_t>(), made = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t byte = selection >> 8 * i & 0xff;
    if (byte > 7)
      fail("perm with the selection %#x", selection);
    made |= uint32_t(bytes >> 8 * byte & 0xff) << 8 * i;
  }
  results[0].as<uint32_t>() = made;
}

/// Gives each thread the value of one thread, whose number all threads have in
/// common.
INSTRUCTION(amdgcn_readlane_i32) {
  convergeWarp(getWholeWarp(), "readlane", args, results,
               [](Slot *const *args, Slot *const *results) {
                 int source = args[0][1].as<int32_t>();
                 for (int inWarp = 0; inWarp < getWarpSize(); ++inWarp)
                   results[inWarp][0].as<int32_t>() =
                       args[source & (getWarpSize() - 1)][0].as<int32_t>();
               });
}

/// Gives each thread the value of thread `index / 4` of its warp.
INSTRUCTION(amdgcn_ds_bpermute) {
  convergeWarp(getWholeWarp(), "ds_bpermute", args, results,
               [](Slot *const *args, Slot *const *results) {
                 for (int inWarp = 0; inWarp < getWarpSize(); ++inWarp) {
                   int source = args[inWarp][0].as<int32_t>() / 4;
                   results[inWarp][0].as<int32_t>() =
                       args[source & (getWarpSize() - 1)][1].as<int32_t>();
                 }
               });
}

/// Gives each thread the value of a thread among its 32 neighbours, whose
/// number the bits of the last operand compute: five bits each that are kept,
/// set and inverted.
INSTRUCTION(amdgcn_ds_swizzle) {
  convergeWarp(getWholeWarp(), "ds_swizzle", args, results,
               [](Slot *const *args, Slot *const *results) {
                 for (int inWarp = 0; inWarp < getWarpSize(); ++inWarp) {
                   int bits = args[inWarp][1].as<int32_t>();
                   if (bits & 0x8000)
                     fail("ds_swizzle with the pattern %#x", bits);
                   int source = (inWarp & bits & 31) | (bits >> 5 & 31);
                   source = (source ^ (bits >> 10 & 31)) | (inWarp & ~31);
                   results[inWarp][0].as<int32_t>() =
                       args[source][0].as<int32_t>();
                 }
               });
}

/// Exchanges every other row of `rowSize` threads: the odd rows of the first
/// operand and the even rows of the second one.
static void swapRows(Slot *args, Slot *results, const char *name, int rowSize) {
  convergeWarp(getWholeWarp(), name, args, results,
               [rowSize](Slot *const *args, Slot *const *results) {
                 for (int inWarp = 0; inWarp < getWarpSize(); ++inWarp) {
                   bool isOdd = inWarp / rowSize % 2;
                   int even = inWarp & ~rowSize, odd = inWarp | rowSize;
                   results[inWarp][0].as<int32_t>() =
                       isOdd ? args[even][1].as<int32_t>()
                             : args[inWarp][0].as<int32_t>();
                   results[inWarp][1].as<int32_t>() =
                       isOdd ? args[inWarp][1].as<int32_t>()
                             : args[odd][0].as<int32_t>();
                 }
               });
}
INSTRUCTION(amdgcn_permlane16_swap) {
  swapRows(args, results, "permlane16_swap", 16);
}
INSTRUCTION(amdgcn_permlane32_swap) {
  swapRows(args, results, "permlane32_swap", 32);
}

/// Adds the number of bits that a mask has below the thread, among the first 32
/// threads of a warp or the others.
static void countBelow(Slot *args, Slot *results, int first) {
  int below = getThread() % getWarpSize() - first;
  uint32_t mask = args[0].as<uint32_t>();
  if (below < 32)
    mask &= below > 0 ? (1u << below) - 1 : 0;
  results[0].as<int32_t>() = __builtin_popcount(mask) + args[1].as<int32_t>();
}
INSTRUCTION(amdgcn_mbcnt_lo) { countBelow(args, results, 0); }
INSTRUCTION(amdgcn_mbcnt_hi) { countBelow(args, results, 32); }

//===----------------------------------------------------------------------===//
// Matrix instructions
//===----------------------------------------------------------------------===//

/// Adds the product of `size` by `depth` and `depth` by `size` elements. With
/// `groups` groups of `size` lanes, lane `l` holds row (or column) `l % size`
/// of the operands, and `depth / groups` consecutive elements along K from
/// group `l / size` on. Accumulator `i` of the lane is row `8 * (i / 4) + 4 *
/// (l / 32) + i % 4` of 32, or `4 * (l / 16) + i` of 16, in column `l % size`.
template <typename T, int size, int depth>
static void multiply(const char *name, Slot *args, Slot *results) {
  constexpr int groups = kMaxWarpSize / size, perLane = depth / groups;
  constexpr int count = size * size / kMaxWarpSize;
  constexpr int operandSlots = (perLane * sizeof(T) + 15) / 16;
  if (getWarpSize() != kMaxWarpSize)
    fail("%s in a warp of %d threads", name, getWarpSize());
  using Sum = decltype(widen(T()));
  auto work = [](Slot *const *args, Slot *const *results) {
    static Sum a[size][depth], b[depth][size];
    for (int lane = 0; lane < kMaxWarpSize; ++lane)
      for (int i = 0; i < perLane; ++i) {
        int k = lane / size * perLane + i;
        a[lane % size][k] = widen((&args[lane][0].as<T>())[i]);
        b[k][lane % size] = widen((&args[lane][operandSlots].as<T>())[i]);
      }
    for (int lane = 0; lane < kMaxWarpSize; ++lane)
      for (int i = 0; i < count; ++i) {
        int row = 4 * groups * (i / 4) + 4 * (lane / size) + i % 4;
        Sum sum = (&args[lane][2 * operandSlots].as<Sum>())[i];
        for (int k = 0; k < depth; ++k)
          sum += a[row][k] * b[k][lane % size];
        (&results[lane][0].as<Sum>())[i] = sum;
      }
  };
  convergeWarp(getWholeWarp(), name, args, results, work);
}

INSTRUCTION(amdgcn_mfma_f32_16x16x16f16) {
  multiply<_Float16, 16, 16>("mfma.16x16x16.f16", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_16x16x16bf16_1k) {
  multiply<__bf16, 16, 16>("mfma.16x16x16.bf16", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_32x32x8f16) {
  multiply<_Float16, 32, 8>("mfma.32x32x8.f16", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_32x32x8bf16_1k) {
  multiply<__bf16, 32, 8>("mfma.32x32x8.bf16", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_16x16x32_f16) {
  multiply<_Float16, 16, 32>("mfma.16x16x32.f16", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_16x16x32_bf16) {
  multiply<__bf16, 16, 32>("mfma.16x16x32.bf16", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_32x32x16_f16) {
  multiply<_Float16, 32, 16>("mfma.32x32x16.f16", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_32x32x16_bf16) {
  multiply<__bf16, 32, 16>("mfma.32x32x16.bf16", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_16x16x32_fp8_fp8) {
  multiply<E4M3, 16, 32>("mfma.16x16x32.fp8", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_16x16x32_bf8_bf8) {
  multiply<E5M2, 16, 32>("mfma.16x16x32.bf8", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_32x32x16_fp8_fp8) {
  multiply<E4M3, 32, 16>("mfma.32x32x16.fp8", args, results);
}
INSTRUCTION(amdgcn_mfma_f32_32x32x16_bf8_bf8) {
  multiply<E5M2, 32, 16>("mfma.32x32x16.bf8", args, results);
}
INSTRUCTION(amdgcn_mfma_i32_16x16x16i8) {
  multiply<int8_t, 16, 16>("mfma.16x16x16.i8", args, results);
}
INSTRUCTION(amdgcn_mfma_i32_32x32x8i8) {
  multiply<int8_t, 32, 8>("mfma.32x32x8.i8", args, results);
}
INSTRUCTION(amdgcn_mfma_i32_16x16x32_i8) {
  multiply<int8_t, 16, 32>("mfma.16x16x32.i8", args, results);
}
INSTRUCTION(amdgcn_mfma_i32_32x32x16_i8) {
  multiply<int8_t, 32, 16>("mfma.32x32x16.i8", args, results);
}
INSTRUCTION(amdgcn_mfma_i32_16x16x64_i8) {
  multiply<int8_t, 16, 64>("mfma.16x16x64.i8", args, results);
}
INSTRUCTION(amdgcn_mfma_i32_32x32x32_i8) {
  multiply<int8_t, 32, 32>("mfma.32x32x32.i8", args, results);
}
