//===- ArenaPlanner.cpp - Offsets of intermediates ------------------------===//

#include "passes/memory/placement/ArenaPlanner.h"

#include "lib/analysis/CostModel.h"
#include "lib/support/ArenaAlignment.h"
#include "lib/support/PlanRank.h"
#include "lib/support/RankParts.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ark;

/// `planWithin` tries gaps of the time of all tasks divided by 2, 4, …, 2^11.
static constexpr int kMaxHalvings = 12;

/// Returns the rank in whose part of the arena an intermediate lies: the rank
/// of its last task. The last task is a reader if the intermediate has readers,
/// so that a tensor that one rank sends to another lies in the part of the
/// receiver.
static int64_t getPartRank(const Intermediate &intermediate,
                           ArrayRef<TaskOp> tasks) {
  if (intermediate.tasks.empty())
    return 0;
  return getRank(TaskOp(tasks[intermediate.tasks.back()]));
}

ArenaPlanner::ArenaPlanner(const Liveness &liveness, ProgramOp program)
    : program(program), liveness(liveness), numRanks(program.getNumRanks()),
      partAlignment(kArenaAlignment) {
  TargetAttr target = findTarget(program);
  if (target && target.isGpu())
    partAlignment = kPeerPageBytes;
  ArrayRef<TaskOp> tasks = liveness.getTasks();
  for (const Intermediate &intermediate : liveness.getIntermediates()) {
    int64_t rank = getPartRank(intermediate, tasks);
    sizes.push_back(llvm::alignTo(intermediate.bytes, kArenaAlignment));
    ranks.push_back(rank);
    isLocal.push_back(llvm::all_of(intermediate.tasks, [&](unsigned task) {
      return ark::getRank(TaskOp(tasks[task])) == rank;
    }));
  }
  size_t count = sizes.size();
  byData.assign(count, llvm::BitVector(count));
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < i; ++j)
      if (ranks[i] == ranks[j] && !liveness.mayShare(i, j)) {
        byData[i].set(j);
        byData[j].set(i);
      }
}

SmallVector<double> ArenaPlanner::getStartNs() const {
  CostModel costs(program, /*sms=*/1);
  SmallVector<double> startNs = {0};
  for (unsigned task = 0; task < liveness.getTasks().size(); ++task)
    startNs.push_back(startNs.back() + costs.getTaskNs(task));
  return startNs;
}

ArenaPlanner::Interferences
ArenaPlanner::getInterferences(ArrayRef<double> startNs, double gap) const {
  ArrayRef<Intermediate> intermediates = liveness.getIntermediates();
  Interferences result = byData;
  auto isFarBehind = [&](unsigned earlier, unsigned later) {
    unsigned end = intermediates[earlier].tasks.back() + 1;
    unsigned begin = intermediates[later].tasks.front();
    return end <= begin && (gap == 0 || startNs[begin] - startNs[end] >= gap);
  };
  for (unsigned i = 0; i < result.size(); ++i)
    for (unsigned j : byData[i].set_bits())
      if (j < i && isLocal[i] && isLocal[j] && liveness.isApart(i, j) &&
          (isFarBehind(i, j) || isFarBehind(j, i))) {
        result[i].reset(j);
        result[j].reset(i);
      }
  return result;
}

/// Returns the smallest sufficient gap between interfering intermediates, or
/// the lowest offset above them if no gap suffices. `placed` is ascending.
int64_t ArenaPlanner::findOffset(unsigned intermediate,
                                 ArrayRef<std::pair<int64_t, unsigned>> placed,
                                 const Interferences &interferes) const {
  int64_t best = 0, bestGap = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (auto [offset, other] : placed) {
    if (!interferes[intermediate].test(other))
      continue;
    int64_t gap = offset - end;
    if (gap >= sizes[intermediate] && gap < bestGap) {
      best = end;
      bestGap = gap;
    }
    end = std::max(end, offset + sizes[other]);
  }
  return bestGap == std::numeric_limits<int64_t>::max() ? end : best;
}

ArenaPlan ArenaPlanner::place(ArrayRef<unsigned> order,
                              const Interferences &interferes) const {
  ArenaPlan plan;
  plan.offsets.resize(sizes.size());
  SmallVector<std::pair<int64_t, unsigned>> placed;
  for (unsigned intermediate : order) {
    int64_t offset = findOffset(intermediate, placed, interferes);
    plan.offsets[intermediate] = offset;
    plan.bytes = std::max(plan.bytes, offset + sizes[intermediate]);
    std::pair<int64_t, unsigned> entry(offset, intermediate);
    placed.insert(llvm::upper_bound(placed, entry), entry);
  }
  return plan;
}

ArenaPlan ArenaPlanner::run(const Interferences &interferes) const {
  ArrayRef<Intermediate> intermediates = liveness.getIntermediates();
  auto getLifetime = [&](unsigned i) -> int64_t {
    ArrayRef<unsigned> tasks = intermediates[i].tasks;
    return tasks.empty() ? 0 : tasks.back() - tasks.front() + 1;
  };
  // No order is best for all programs. If large intermediates come first, small
  // intermediates fit into the gaps. If long-lived intermediates come first,
  // they do not fragment the space of the others.
  auto getOrder = [&](llvm::function_ref<int64_t(unsigned)> weight) {
    auto order = llvm::to_vector(llvm::seq<unsigned>(0, intermediates.size()));
    llvm::sort(order, [&](unsigned a, unsigned b) {
      int64_t weightA = weight(a), weightB = weight(b);
      if (weightA != weightB)
        return weightA > weightB;
      return std::tie(intermediates[a].tasks, a) <
             std::tie(intermediates[b].tasks, b);
    });
    return order;
  };
  SmallVector<unsigned> orders[] = {
      getOrder([&](unsigned i) { return sizes[i]; }),
      getOrder([&](unsigned i) { return sizes[i] * getLifetime(i); }),
      getOrder([&](unsigned i) { return getLifetime(i); }),
      getOrder([&](unsigned) { return 0; }),
  };

  std::optional<ArenaPlan> best;
  for (ArrayRef<unsigned> order : orders) {
    ArenaPlan plan = place(order, interferes);
    if (!best || plan.bytes < best->bytes)
      best = std::move(plan);
  }
  best->partBytes = best->bytes;
  // The parts of all ranks have the size of the largest part, so that an offset
  // is valid on every rank.
  if (numRanks == 1)
    return *best;
  best->partBytes = llvm::alignTo(best->bytes, partAlignment);
  for (auto [offset, rank] : llvm::zip(best->offsets, ranks))
    offset += rank * best->partBytes;
  best->bytes = best->partBytes * numRanks;
  return *best;
}

std::optional<ArenaPlan> ArenaPlanner::planWithin(int64_t limit) const {
  ArenaPlan plan = planByData();
  if (plan.partBytes <= limit)
    return plan;
  plan = planByProgram();
  if (plan.partBytes > limit)
    return std::nullopt;
  SmallVector<double> startNs = getStartNs();
  // Binary search over the number of halvings. Invariant: `plan` is within the
  // limit, and its gap is the time of all tasks after `most` halvings (or zero,
  // before the first success).
  for (int least = 0, most = kMaxHalvings; least + 1 < most;) {
    int halvings = (least + most) / 2;
    ArenaPlan next =
        run(getInterferences(startNs, std::ldexp(startNs.back(), -halvings)));
    if (next.partBytes > limit) {
      least = halvings;
      continue;
    }
    plan = std::move(next);
    most = halvings;
  }
  return plan;
}
