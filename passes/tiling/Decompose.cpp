//===- Decompose.cpp - Decompose ark ops into structured ops --------------===//

#include "passes/tiling/decompose/Decompose.h"
#include "passes/tiling/Passes.h"

#include "lib/support/GatheredMatrices.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ark {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "passes/tiling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Records the names of a group's ops for reports, before the ops are replaced.
static void recordOps(Operation *group) {
  if (group->hasAttr("ops"))
    return;
  Builder builder(group->getContext());
  SmallVector<Attribute> names;
  for (Operation &op : group->getRegion(0).front().without_terminator())
    if (isa<ArkDialect>(op.getDialect()) && !isa<ConstantOp>(op))
      names.push_back(builder.getStringAttr(op.getName().stripDialect()));
  group->setAttr("ops", builder.getArrayAttr(names));
}

namespace {
struct DecomposePass : ark::impl::DecomposePassBase<DecomposePass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateDecomposeArgmax(converter, set);
    populateDecomposeAttention(converter, set);
    populateDecomposeAttentionGradient(converter, set);
    populateDecomposeCombination(converter, set);
    populateDecomposeConvolution(converter, set);
    populateDecomposeElementwise(converter, set);
    populateDecomposeIndexing(converter, set);
    populateDecomposeMatmul(converter, set);
    populateDecomposeNorm(converter, set);
    populateDecomposeNormGradient(converter, set);
    populateDecomposeQuantizedMatmul(converter, set);
    populateDecomposeReduce(converter, set);
    populateDecomposeRope(converter, set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    ConversionTarget target(getContext());
    target.addLegalDialect<affine::AffineDialect, arith::ArithDialect,
                           linalg::LinalgDialect, math::MathDialect,
                           tensor::TensorDialect>();
    // Ops of bodies stay until code generation.
    target.addDynamicallyLegalDialect<ArkDialect>(
        [](Operation *op) { return isa<BodyOpInterface>(op); });
    // ark.top_threshold stays: its search loop is built when a tile consists of
    // one row.
    target.addLegalOp<CheckIndexOp, EpochOp, GroupOp, TaskOp, TileOffsetOp,
                      TopThresholdOp, YieldOp, UnrealizedConversionCastOp>();
    // A gather stays if a tile of its only reader needs one slice of the table.
    target.addDynamicallyLegalOp<GatherOp>(
        [](GatherOp op) { return bool(getProductOfGathered(op)); });
    for (Operation &op : getOperation().getBody().front()) {
      // Tasks are those of custom ops.
      if (!isa<GroupOp, TaskOp>(op))
        continue;
      recordOps(&op);
      if (failed(applyPartialConversion(&op, target, patterns)))
        return signalPassFailure();
    }
  }

  ComputeTypeConverter converter;
  FrozenRewritePatternSet patterns;
};
} // namespace
