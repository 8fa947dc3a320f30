//===- SplitArgmax.cpp - Split long argmaxes for idle SMs -----------------===//

#include "lib/analysis/CostModel.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SPLITARGMAXPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Minimum predicted gain of a split. The estimates are coarse and should
/// decide clear cases only.
static constexpr double kMinGain = 0.05;

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Predicts the time to reduce `results` results from `bytes` bytes each, with
/// one vCTA per result. All SMs are assumed to share the bandwidth equally: a
/// single vCTA cannot use the bandwidth of idle SMs.
static double predictReduction(TargetAttr target, int64_t results,
                               double bytes) {
  return llvm::divideCeil(results, target.getSms()) *
             predictVCTANs(target, target.getSms(), bytes, /*flops=*/0) +
         predictHandoffNs(target, std::min(results, target.getSms()));
}

/// Returns the number of partitions; 1 if the dimension should not be split.
static int64_t choosePartitions(TargetAttr target, int64_t rows, int64_t extent,
                                double bytesOfElement) {
  constexpr int64_t kPackedBytes = 8;
  double best =
      predictReduction(target, rows, extent * bytesOfElement) * (1 - kMinGain);
  int64_t chosen = 1;
  for (int64_t partitions = 2; partitions * rows <= target.getSms();
       ++partitions) {
    if (extent % partitions != 0)
      continue;
    double predicted =
        predictReduction(target, rows * partitions,
                         extent / partitions * bytesOfElement) +
        predictReduction(target, rows, partitions * kPackedBytes);
    if (predicted < best) {
      best = predicted;
      chosen = partitions;
    }
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

static void split(RewriterBase &rewriter, ArgmaxOp op, int64_t partitions) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  int64_t axis = op.getAxis();
  SmallVector<int64_t> shape(getTensorType(op.getOperand()).getShape());
  shape[axis] /= partitions;
  shape.insert(shape.begin() + axis, partitions);
  Value cut = ReshapeOp::create(rewriter, loc, op.getOperand(), shape);
  auto partial = PartialArgmaxOp::create(rewriter, loc, cut, axis + 1);
  auto combined = CombineArgmaxOp::create(rewriter, loc, partial, axis);
  for (Operation *made : {partial.getOperation(), combined.getOperation()})
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, combined);
}

namespace {
struct SplitArgmaxPass : ark::impl::SplitArgmaxPassBase<SplitArgmaxPass> {
  using SplitArgmaxPassBase::SplitArgmaxPassBase;

  int64_t getNumPartitions(ArgmaxOp op) {
    auto plan = op->getAttrOfType<DictionaryAttr>(ArkDialect::kPlanAttr.str());
    RankedTensorType type = getTensorType(op.getOperand());
    int64_t rows = getTensorType(op.getResult()).getNumElements();
    int64_t extent = type.getDimSize(op.getAxis());
    constexpr int64_t kMaxIndices = std::numeric_limits<int32_t>::max();
    if ((plan && plan.contains("tile")) || rows == 0 || extent > kMaxIndices ||
        type.getElementTypeBitWidth() > 32)
      return 1;
    if (partitions > 0)
      return extent % partitions == 0 ? partitions : 1;
    TargetAttr target = findTarget(op);
    return target ? choosePartitions(target, rows, extent,
                                     type.getElementTypeBitWidth() / 8.0)
                  : 1;
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto op : llvm::make_early_inc_range(
             getOperation().getBody().getOps<ArgmaxOp>())) {
      int64_t count = getNumPartitions(op);
      if (count == 1)
        continue;
      split(rewriter, op, count);
      ++numSplit;
    }
  }
};
} // namespace
