//===- MergeVctas.cpp - Merges vCTAs into a parallel loop -----------------===//

#include "lib/support/DimIndices.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/simt/ThreadReduction.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/IterationSpace.h"
#include "passes/target/support/Warp.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace mlir::ark {
#define GEN_PASS_DEF_MERGEVCTASPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the strips per thread in a reduction that one warp shares.
static constexpr int64_t kMaxStrips = 64;

/// Returns true if an op writes a temporary, which belongs to one vCTA at a
/// time.
static bool writesTemporary(Operation *op) {
  return op
      ->walk([](memref::StoreOp store) {
        Value root = store.getMemRef();
        while (auto view = root.getDefiningOp<ViewLikeOpInterface>())
          root = view.getViewSource();
        return root.getDefiningOp<memref::AllocaOp>() ? WalkResult::interrupt()
                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns true if a single result occupies all threads of a CTA. In a merged
/// loop, only one warp would compute the result.
static bool hasLongReduction(scf::ParallelOp loop, int64_t warpSize) {
  return llvm::any_of(
      loop.getBody()->getOps<scf::ParallelOp>(), [=](scf::ParallelOp inner) {
        std::optional<ThreadReduction> reduction =
            ThreadReduction::match(inner);
        return reduction &&
               reduction->getNumStrips().value_or(0) > kMaxStrips * warpSize;
      });
}

/// Returns the parallel loop of a loop over vCTAs, if no other op in the loop
/// accesses memory.
static scf::ParallelOp getOnlyLoop(scf::ForOp vctas, int64_t warpSize) {
  scf::ParallelOp only;
  for (Operation &op : vctas.getBody()->without_terminator()) {
    auto loop = dyn_cast<scf::ParallelOp>(op);
    if (loop && !only && loop.getNumReductions() == 0)
      only = loop;
    else if (loop || !isMemoryEffectFree(&op))
      return {};
  }
  bool fits =
      only && !writesTemporary(only) && !hasLongReduction(only, warpSize);
  return fits ? only : scf::ParallelOp();
}

namespace {
/// The extent of one dimension of the parallel loop inside of the loop over
/// vCTAs.
struct Extent {
  /// The extent inside of the loop, which may depend on the vCTA.
  Value end;
  /// The largest extent, if `end` is not defined outside of the loop over
  /// vCTAs.
  std::optional<int64_t> bound;
};

/// Merges a loop over vCTAs and its parallel loop into one parallel loop.
class Merger {
public:
  Merger(scf::ForOp vctas, scf::ParallelOp loop)
      : vctas(vctas), loop(loop), builder(vctas) {}

  /// Returns true if a loop with the same bounds suits all vCTAs.
  bool analyze();
  void merge();

private:
  scf::ParallelOp createMerged();
  Value clamp(ValueRange variables, SmallVectorImpl<Value> &clamped);
  void guardStores(Block *block, Value exists);

  scf::ForOp vctas;
  scf::ParallelOp loop;
  OpBuilder builder;
  SmallVector<Extent> extents;
};
} // namespace

bool Merger::analyze() {
  for (auto [begin, end, step] :
       llvm::zip(loop.getLowerBound(), loop.getUpperBound(), loop.getStep())) {
    if (!isConstantIntValue(begin, 0) || !isConstantIntValue(step, 1))
      return false;
    if (vctas.isDefinedOutsideOfLoop(end) || matchPattern(end, m_Constant())) {
      extents.push_back({end, std::nullopt});
      continue;
    }
    FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, end, /*stopCondition=*/nullptr,
        /*closedUB=*/true);
    if (failed(bound) || *bound < 1)
      return false;
    extents.push_back({end, *bound});
  }
  return true;
}

/// Creates the merged loop with an empty body.
scf::ParallelOp Merger::createMerged() {
  Location loc = loop.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<Value> begins = {vctas.getLowerBound()},
                     ends = {vctas.getUpperBound()}, steps = {vctas.getStep()};
  for (const Extent &extent : extents) {
    begins.push_back(zero);
    steps.push_back(arith::ConstantIndexOp::create(builder, loc, 1));
    if (extent.bound)
      ends.push_back(
          arith::ConstantIndexOp::create(builder, loc, *extent.bound));
    else if (Operation *constant = extent.end.getDefiningOp();
             constant && !vctas.isDefinedOutsideOfLoop(extent.end))
      ends.push_back(builder.clone(*constant)->getResult(0));
    else
      ends.push_back(extent.end);
  }
  return scf::ParallelOp::create(builder, loc, begins, ends, steps);
}

/// Clamps the variables: iterations beyond the end of a clipped vCTA repeat its
/// last iteration, so that threads that share a reduction stay together.
/// Returns an i1 that is true if the iteration exists, or null if all
/// iterations exist.
Value Merger::clamp(ValueRange variables, SmallVectorImpl<Value> &clamped) {
  Location loc = loop.getLoc();
  Value exists;
  for (auto [variable, extent] : llvm::zip(variables, extents)) {
    clamped.push_back(variable);
    if (!extent.bound)
      continue;
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    Value last = arith::SubIOp::create(builder, loc, extent.end, one);
    clamped.back() = arith::MinSIOp::create(builder, loc, variable, last);
    Value isInside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, variable, extent.end);
    exists =
        exists
            ? arith::AndIOp::create(builder, loc, exists, isInside).getResult()
            : isInside;
  }
  return exists;
}

void Merger::guardStores(Block *block, Value exists) {
  for (auto store :
       llvm::make_early_inc_range(block->getOps<memref::StoreOp>())) {
    builder.setInsertionPoint(store);
    auto branch = scf::IfOp::create(builder, store.getLoc(), exists,
                                    /*hasElse=*/false);
    store->moveBefore(branch.thenBlock()->getTerminator());
  }
}

void Merger::merge() {
  scf::ParallelOp merged = createMerged();
  Block *body = merged.getBody();
  IRRewriter rewriter(builder);
  SmallVector<Value> variables = merged.getInductionVars();
  vctas.getInductionVar().replaceAllUsesWith(variables.front());
  for (Operation &op :
       llvm::make_early_inc_range(vctas.getBody()->without_terminator()))
    if (&op != loop)
      op.moveBefore(body->getTerminator());
  builder.setInsertionPoint(body->getTerminator());
  SmallVector<Value> clamped;
  Value exists = clamp(ValueRange(variables).drop_front(), clamped);
  loop.getBody()->getTerminator()->erase();
  rewriter.inlineBlockBefore(loop.getBody(), body->getTerminator(), clamped);
  if (exists)
    guardStores(body, exists);
  vctas.erase();
}

namespace {
struct MergeVctasPass : ark::impl::MergeVctasPassBase<MergeVctasPass> {
  using MergeVctasPassBase::MergeVctasPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    MergeVctasPassBase::getDependentDialects(registry);
    registerBoundModels(registry);
  }

  void runOnOperation() override {
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    FailureOr<int64_t> warpThreads = getWarpSize(getOperation(), warpSize);
    if (failed(warpThreads))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body); vctas && isWorthwhile(body))
        mergeInto(vctas, *warpThreads);
  }

private:
  /// Returns false if every work item has one vCTA: merging gains nothing, and
  /// the number of results is constant.
  static bool isWorthwhile(func::FuncOp body) {
    auto vctas = body->getAttrOfType<IntegerAttr>(kWorkItemVctasAttr);
    return !vctas || vctas.getInt() > 1;
  }

  static void mergeInto(scf::ForOp vctas, int64_t warpThreads) {
    scf::ParallelOp loop = getOnlyLoop(vctas, warpThreads);
    if (!loop)
      return;
    Merger merger(vctas, loop);
    if (merger.analyze())
      merger.merge();
  }
};
} // namespace
