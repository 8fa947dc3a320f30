//===- PlanArena.cpp - Assign offsets to intermediates --------------------===//

#include "lib/analysis/CostModel.h"
#include "lib/analysis/Liveness.h"
#include "lib/support/ArenaAlignment.h"
#include "lib/support/PlanRank.h"
#include "lib/support/RankParts.h"
#include "passes/memory/placement/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PLANARENAPASS
#include "passes/memory/placement/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct Plan {
  int64_t bytes = 0;
  SmallVector<int64_t> offsets;
};

/// Places intermediates one by one.
class Planner {
public:
  Planner(const Liveness &liveness, ProgramOp program);

  /// Returns the best plan over several orders of placement.
  Plan run() const;

private:
  Plan place(ArrayRef<unsigned> order) const;
  int64_t findOffset(unsigned intermediate,
                     ArrayRef<std::pair<int64_t, unsigned>> placed) const;

  const Liveness &liveness;
  int64_t numRanks;
  /// The size of each rank's part is a multiple of this number of bytes.
  int64_t partAlignment = kArenaAlignment;
  SmallVector<int64_t> sizes;
  /// Rank of every intermediate. Each rank has its own part of the arena, and
  /// offsets count from the start of this part.
  SmallVector<int64_t> ranks;
  /// interferes[i][j]: i and j must not share bytes.
  std::vector<llvm::BitVector> interferes;
};
} // namespace

/// Returns the rank in whose part of the arena an intermediate lies: the rank
/// of its last task. The last task is a reader if the intermediate has readers,
/// so that a tensor that one rank sends to another lies in the part of the
/// receiver.
static int64_t getRank(const Intermediate &intermediate,
                       ArrayRef<TaskOp> tasks) {
  if (intermediate.tasks.empty())
    return 0;
  return getRank(TaskOp(tasks[intermediate.tasks.back()]));
}

Planner::Planner(const Liveness &liveness, ProgramOp program)
    : liveness(liveness), numRanks(program.getNumRanks()) {
  TargetAttr target = findTarget(program);
  if (target && target.isGpu())
    partAlignment = kPeerPageBytes;
  size_t count = liveness.getIntermediates().size();
  for (const Intermediate &intermediate : liveness.getIntermediates()) {
    sizes.push_back(llvm::alignTo(intermediate.bytes, kArenaAlignment));
    ranks.push_back(getRank(intermediate, liveness.getTasks()));
  }
  interferes.assign(count, llvm::BitVector(count));
  for (unsigned i = 0; i < count; ++i)
    for (unsigned j = 0; j < i; ++j)
      if (ranks[i] == ranks[j] && !liveness.mayShare(i, j)) {
        interferes[i].set(j);
        interferes[j].set(i);
      }
}

/// Returns the smallest sufficient gap between interfering intermediates, or
/// the lowest offset above them if no gap suffices. `placed` is ascending.
int64_t
Planner::findOffset(unsigned intermediate,
                    ArrayRef<std::pair<int64_t, unsigned>> placed) const {
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

Plan Planner::place(ArrayRef<unsigned> order) const {
  Plan plan;
  plan.offsets.resize(sizes.size());
  SmallVector<std::pair<int64_t, unsigned>> placed;
  for (unsigned intermediate : order) {
    int64_t offset = findOffset(intermediate, placed);
    plan.offsets[intermediate] = offset;
    plan.bytes = std::max(plan.bytes, offset + sizes[intermediate]);
    std::pair<int64_t, unsigned> entry(offset, intermediate);
    placed.insert(llvm::upper_bound(placed, entry), entry);
  }
  return plan;
}

Plan Planner::run() const {
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

  std::optional<Plan> best;
  for (ArrayRef<unsigned> order : orders) {
    Plan plan = place(order);
    if (!best || plan.bytes < best->bytes)
      best = std::move(plan);
  }
  // The parts of all ranks have the size of the largest part, so that an offset
  // is valid on every rank.
  if (numRanks == 1)
    return *best;
  int64_t share = llvm::alignTo(best->bytes, partAlignment);
  for (auto [offset, rank] : llvm::zip(best->offsets, ranks))
    offset += rank * share;
  best->bytes = share * numRanks;
  return *best;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Replaces every `memref.alloc` by its part of one arena.
static void materialize(ProgramOp program, const Liveness &liveness,
                        const Plan &plan) {
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  auto arena =
      ArenaOp::create(builder, program.getLoc(),
                      MemRefType::get({plan.bytes}, builder.getI8Type()));
  // Layers reuse the offsets of earlier layers, so each offset has one
  // constant.
  llvm::DenseMap<int64_t, Value> shifts;
  for (int64_t offset : plan.offsets) {
    Value &shift = shifts[offset];
    if (!shift)
      shift = arith::ConstantIndexOp::create(builder, program.getLoc(), offset);
  }
  for (auto [intermediate, offset] :
       llvm::zip(liveness.getIntermediates(), plan.offsets)) {
    auto alloc = intermediate.buffer.getDefiningOp<memref::AllocOp>();
    builder.setInsertionPoint(alloc);
    Value view =
        memref::ViewOp::create(builder, alloc.getLoc(), alloc.getType(), arena,
                               shifts[offset], /*sizes=*/ValueRange());
    alloc.replaceAllUsesWith(view);
    alloc.erase();
  }
}

namespace {
struct PlanArenaPass : public ark::impl::PlanArenaPassBase<PlanArenaPass> {
  using PlanArenaPassBase::PlanArenaPassBase;

  void runOnOperation() override;
};
} // namespace

void PlanArenaPass::runOnOperation() {
  ProgramOp program = getOperation();
  if (program.getBody().getOps<memref::AllocOp>().empty())
    return;
  auto arenas = program.getBody().getOps<ArenaOp>();
  if (!arenas.empty()) {
    (*arenas.begin())
        .emitError("exists before ark-plan-arena creates the arena");
    return signalPassFailure();
  }
  FailureOr<Liveness> liveness = Liveness::compute(program);
  if (failed(liveness))
    return signalPassFailure();
  Plan plan = Planner(*liveness, program).run();
  int64_t largest = liveness->getLargestLiveSet();
  numIntermediates += liveness->getIntermediates().size();
  arenaBytes += plan.bytes;
  largestLiveSet += largest;
  for (const Intermediate &intermediate : liveness->getIntermediates())
    sumBytes += intermediate.bytes;
  program->setAttr(ArkDialect::kLargestLiveSetAttr,
                   Builder(program).getI64IntegerAttr(largest));
  materialize(program, *liveness, plan);
}
