//===- L2Map.cpp - The L2s of lanes ---------------------------------------===//

#include "passes/scheduling/L2Map.h"

#include "dialects/ark/ArkKnownTargets.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

L2Map::L2Map(const SchedulerInput &input)
    : sms(input.target.getSms()), ranks(input.placement.smsOfRank.size()),
      l2sOfRank(findNumL2s(input.target)) {}

/// Returns the L2 of a lane's SM, among the L2s of all ranks.
unsigned L2Map::getL2(unsigned lane) const {
  unsigned sm = lane % sms, smsOfRank = sms / ranks;
  return sm / smsOfRank * l2sOfRank + sm % smsOfRank % l2sOfRank;
}

SmallVector<unsigned> L2Map::sortLanes(ArrayRef<unsigned> lanes,
                                       ArrayRef<double> starts,
                                       unsigned home) const {
  // L2s come in turn, from that of `home` on.
  unsigned l2s = l2sOfRank * ranks, first = getL2(home);
  auto getKey = [&](unsigned lane) {
    unsigned distance = l2sOfRank == 1 ? 0 : (getL2(lane) + l2s - first) % l2s;
    return std::pair(starts[lane], distance);
  };
  SmallVector<unsigned> sorted(lanes);
  llvm::stable_sort(
      sorted, [&](unsigned a, unsigned b) { return getKey(a) < getKey(b); });
  return sorted;
}
