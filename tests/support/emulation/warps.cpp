//===- warps.cpp - Barriers, votes and shuffles ---------------------------===//

#include "simt.h"

using namespace simt;

INSTRUCTION(barrier_cta_sync_aligned_all) {
  if (!isDropped())
    syncCta(false);
}
INSTRUCTION(barrier_cta_red_or_aligned_all) {
  bool own = args[1].as<bool>();
  results[0].as<bool>() = isDropped() ? own : syncCta(own);
}

INSTRUCTION(bar_warp_sync) {
  if (!isDropped())
    syncWarp(args[0].as<uint32_t>(), "bar.warp.sync");
}
INSTRUCTION(bar_warp_sync_0xffffffff_mov_b64) {
  if (!isDropped())
    syncWarp(~0u, "bar.warp.sync");
  results[0].as<int64_t>() = args[0].as<int64_t>();
}

INSTRUCTION(vote_any_sync) {
  uint32_t mask = args[0].as<uint32_t>();
  convergeWarp(mask, "vote.any", args, results,
               [mask](Slot *const *args, Slot *const *results) {
                 bool any = false;
                 for (int inWarp = 0; inWarp < kWarpSize; ++inWarp)
                   any |= (mask >> inWarp & 1) && args[inWarp][1].as<bool>();
                 for (int inWarp = 0; inWarp < kWarpSize; ++inWarp)
                   if (mask >> inWarp & 1)
                     results[inWarp][0].as<bool>() = any;
               });
}

/// Gives each thread the value of thread `choose(inWarp, operand)` if that is
/// in the thread's segment, and otherwise its own value.
template <typename Choose>
static void shuffle(const char *name, Slot *args, Slot *results,
                    const Choose &choose) {
  uint32_t mask = args[0].as<uint32_t>();
  convergeWarp(
      mask, name, args, results, [&](Slot *const *args, Slot *const *results) {
        for (int inWarp = 0; inWarp < kWarpSize; ++inWarp) {
          if (!(mask >> inWarp & 1))
            continue;
          int clamp = args[inWarp][3].as<int32_t>();
          int segment = clamp >> 8 & 31;
          int last = (inWarp & segment) | (clamp & 31 & ~segment);
          int source = choose(inWarp, args[inWarp][2].as<int32_t>(), segment);
          if (source > last)
            source = inWarp;
          if (!(mask >> source & 1))
            fail("%s from thread %d of the warp, which does not take part",
                 name, source);
          results[inWarp][0].as<int32_t>() = args[source][1].as<int32_t>();
        }
      });
}

static void shuffleButterfly(Slot *args, Slot *results) {
  shuffle("shfl.bfly", args, results,
          [](int inWarp, int operand, int) { return inWarp ^ operand; });
}
static void shuffleIndex(Slot *args, Slot *results) {
  shuffle("shfl.idx", args, results, [](int inWarp, int operand, int segment) {
    return (inWarp & segment) | (operand & 31 & ~segment);
  });
}
INSTRUCTION(shfl_sync_bfly_f32) { shuffleButterfly(args, results); }
INSTRUCTION(shfl_sync_bfly_i32) { shuffleButterfly(args, results); }
INSTRUCTION(shfl_sync_idx_f32) { shuffleIndex(args, results); }
INSTRUCTION(shfl_sync_idx_i32) { shuffleIndex(args, results); }
