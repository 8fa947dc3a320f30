//===- RecomputeSums.cpp - Recompute sums over ranks in the norms ---------===//

#include "lib/support/GraphUtils.h"
#include "passes/graph/collectives/Passes.h"

#include "lib/analysis/CostModel.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_RECOMPUTESUMSPASS
#include "passes/graph/collectives/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the number of rows along the last dimension.
static int64_t countRows(Value value) {
  ArrayRef<int64_t> shape = getTensorType(value).getShape();
  return shape.empty() ? 1 : ShapedType::getNumElements(shape.drop_back());
}

namespace {
class SumRecomputer {
public:
  explicit SumRecomputer(TargetAttr target) : target(target) {}

  /// If an operand is a sum over ranks with other readers, replaces it by a
  /// copy of the ops that compute it and returns true.
  bool recompute(OpOperand &operand);

private:
  bool collect(Value value, llvm::SetVector<Operation *> &ops);

  TargetAttr target;
  /// Sums that stay in memory for other readers.
  llvm::SmallPtrSet<Operation *, 16> kept;
};
} // namespace

/// Collects the elementwise ops between `value` and the tensors that other
/// ranks put, each op after its producers. Returns true if there is such a
/// tensor.
bool SumRecomputer::collect(Value value, llvm::SetVector<Operation *> &ops) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<ChannelGetOp>(op))
    return true;
  if (!isa<ElementwiseOpInterface>(op) || isa<AnchorOpInterface>(op) ||
      kept.contains(op) || op->hasAttr(ArkDialect::kPlanAttr))
    return false;
  bool receives = false;
  for (Value operand : op->getOperands())
    receives |= collect(operand, ops);
  if (receives || value.hasOneUse())
    ops.insert(op);
  return receives;
}

bool SumRecomputer::recompute(OpOperand &operand) {
  Value sum = operand.get();
  llvm::SetVector<Operation *> ops;
  if (sum.hasOneUse() || countRows(sum) > target.getWarps() ||
      !collect(sum, ops))
    return false;
  // A tensor of another rank that the norm reads itself has nothing to compute.
  if (ops.empty())
    return false;
  kept.insert(sum.getDefiningOp());
  OpBuilder builder(sum.getContext());
  builder.setInsertionPointAfter(sum.getDefiningOp());
  IRMapping copies;
  for (Operation *op : ops)
    builder.clone(*op, copies);
  operand.set(copies.lookup(sum));
  return true;
}

namespace {
struct RecomputeSumsPass : ark::impl::RecomputeSumsPassBase<RecomputeSumsPass> {
  void runOnOperation() override {
    TargetAttr target = findTarget(getOperation());
    if (!target || !target.isGpu())
      return;
    SumRecomputer recomputer(target);
    for (Operation &op : getOperation().getBody().front()) {
      auto anchor = dyn_cast<AnchorOpInterface>(op);
      if (!anchor || !anchor.hasCheapRows())
        continue;
      SmallVector<Value> rows = anchor.getPrologueOperands();
      for (OpOperand &operand : op.getOpOperands())
        if (llvm::is_contained(rows, operand.get()) &&
            recomputer.recompute(operand))
          ++numSums;
    }
  }
};
} // namespace
