//===- PlanArena.cpp - Assign offsets to intermediates --------------------===//

#include "passes/memory/placement/ArenaPlanner.h"
#include "passes/memory/placement/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PLANARENAPASS
#include "passes/memory/placement/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Number of intermediates that an error names.
static constexpr size_t kMaxHolders = 5;
/// Characters of the name of a task in an error. A fused task has a long name.
static constexpr size_t kMaxName = 60;

//===----------------------------------------------------------------------===//
// Arenas that exceed the limit
//===----------------------------------------------------------------------===//

/// Returns the intermediates that are live when the live set is largest, in
/// descending order of their bytes.
static SmallVector<const Intermediate *> getHolders(const Liveness &liveness,
                                                    unsigned peak) {
  SmallVector<const Intermediate *> holders;
  for (const Intermediate &each : liveness.getIntermediates())
    if (!each.tasks.empty() && each.tasks.front() <= peak &&
        each.tasks.back() >= peak)
      holders.push_back(&each);
  llvm::stable_sort(holders, [](const auto *a, const auto *b) {
    return a->bytes > b->bytes;
  });
  return holders;
}

/// Returns the name of a task in quotes, cut to `kMaxName` characters.
static std::string getShortName(TaskOp task) {
  StringRef name = task.getName();
  bool isLong = name.size() > kMaxName;
  return ("'" + name.take_front(kMaxName) + (isLong ? "…'" : "'")).str();
}

/// Reports that no plan keeps the limit; `plan` is the smallest one.
static void reportExcess(ProgramOp program, const Liveness &liveness,
                         const ArenaPlan &plan, int64_t limit) {
  unsigned peak = liveness.getPeak();
  ArrayRef<TaskOp> tasks = liveness.getTasks();
  InFlightDiagnostic diagnostic =
      program.emitError("needs an arena of ")
      << plan.partBytes << " bytes, which exceeds the memory limit of " << limit
      << " bytes; intermediates of " << liveness.getLargestLiveSet()
      << (plan.bytes > plan.partBytes ? " bytes of all ranks" : " bytes")
      << " are live at the same time, at task " << getShortName(tasks[peak]);
  SmallVector<const Intermediate *> holders = getHolders(liveness, peak);
  for (const Intermediate *each : ArrayRef(holders).take_front(kMaxHolders)) {
    TaskOp writer = tasks[each->tasks.front()];
    TaskOp last = tasks[each->tasks.back()];
    diagnostic.attachNote(writer.getLoc())
        << each->bytes << " bytes, " << each->buffer.getType() << ": from task "
        << getShortName(writer) << " to task " << getShortName(last);
  }
  if (holders.size() > kMaxHolders)
    diagnostic.attachNote(program.getLoc())
        << "and " << holders.size() - kMaxHolders << " smaller intermediates";
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Replaces every `memref.alloc` by its part of one arena.
static void materialize(ProgramOp program, const Liveness &liveness,
                        const ArenaPlan &plan) {
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
  int64_t largest = liveness->getLargestLiveSet();
  ArenaPlanner planner(*liveness, program);
  std::optional<ArenaPlan> found =
      limit > 0 ? planner.planWithin(limit) : planner.planByData();
  if (!found) {
    reportExcess(program, *liveness, planner.planByProgram(), limit);
    return signalPassFailure();
  }
  ArenaPlan &plan = *found;
  numIntermediates += liveness->getIntermediates().size();
  arenaBytes += plan.bytes;
  largestLiveSet += largest;
  for (const Intermediate &intermediate : liveness->getIntermediates())
    sumBytes += intermediate.bytes;
  program->setAttr(ArkDialect::kLargestLiveSetAttr,
                   Builder(program).getI64IntegerAttr(largest));
  if (limit > 0)
    program->setAttr(ArkDialect::kMemoryLimitAttr,
                     Builder(program).getI64IntegerAttr(limit));
  materialize(program, *liveness, plan);
}
