//===- VectorizeContractions.cpp - Vector loops for contractions ----------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/target/cpu/Contraction.h"
#include "passes/target/cpu/Passes.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VECTORIZECONTRACTIONSPASS
#include "passes/target/cpu/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Creates loops over all dimensions except m, n and k, and moves the builder
/// inside. `ivs` receives the indices of these loops.
static void emitOuterLoops(ImplicitLocOpBuilder &builder,
                           const Contraction &contraction,
                           ArrayRef<Value> extents, SmallVector<Value> &ivs) {
  linalg::LinalgOp op = contraction.op;
  SmallVector<int64_t> staticExtents = op.getStaticLoopRanges();
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  Value one = arith::ConstantIndexOp::create(builder, 1);
  for (unsigned dim = 0; dim < extents.size(); ++dim) {
    if (dim == contraction.m.dim || dim == contraction.n.dim ||
        dim == contraction.k.dim)
      continue;
    if (staticExtents[dim] == 1) {
      ivs[dim] = zero;
      continue;
    }
    auto loop = scf::ForOp::create(builder, zero, extents[dim], one);
    ivs[dim] = loop.getInductionVar();
    builder.setInsertionPointToStart(loop.getBody());
  }
}

namespace {
struct VectorizeContractions
    : public ark::impl::VectorizeContractionsPassBase<VectorizeContractions> {
  using VectorizeContractionsPassBase::VectorizeContractionsPassBase;

  void runOnOperation() override {
    if (vectorElements != 4 && vectorElements != 8 && vectorElements != 16) {
      getOperation().emitError("vector-elements must be 4, 8 or 16, not ")
          << vectorElements.getValue();
      return signalPassFailure();
    }
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops)
      rewrite(op);
  }

private:
  void rewrite(linalg::LinalgOp op) {
    std::optional<Contraction> contraction = Contraction::match(op);
    if (!contraction) {
      numLeft += linalg::isaContractionOpInterface(op);
      return;
    }
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    contraction->transposeBuffers(builder);
    SmallVector<Value> extents;
    for (Range range : op.createLoopRanges(builder, op.getLoc()))
      extents.push_back(
          getValueOrCreateConstantIndexOp(builder, op.getLoc(), range.size));
    SmallVector<Value> ivs(extents.size());
    emitOuterLoops(builder, *contraction, extents, ivs);
    if (prefersDots(*contraction)) {
      emitDots(builder, *contraction, ivs, extents, vectorElements);
      ++numDots;
    } else {
      emitBlocks(builder, *contraction, ivs, extents, vectorElements);
      ++numBlocked;
    }
    op->erase();
  }
};
} // namespace
