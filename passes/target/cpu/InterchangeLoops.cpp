//===- InterchangeLoops.cpp - Elementwise ops in the order of memory ------===//

#include "passes/target/cpu/Contraction.h"
#include "passes/target/cpu/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::ark {
#define GEN_PASS_DEF_INTERCHANGELOOPSPASS
#include "passes/target/cpu/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the number of operands whose elements are contiguous along a loop.
static int64_t countContiguous(linalg::LinalgOp op, unsigned loop) {
  return llvm::count_if(op->getOpOperands(), [&](OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    return type &&
           isContiguousIn(type, op.getMatchingIndexingMap(&operand), loop);
  });
}

/// Returns the loop that should be the innermost one. The last loop wins ties.
static unsigned selectInnermost(linalg::LinalgOp op) {
  unsigned last = op.getNumLoops() - 1, best = last;
  for (unsigned loop = 0; loop < last; ++loop)
    if (countContiguous(op, loop) > countContiguous(op, best))
      best = loop;
  return best;
}

namespace {
struct InterchangeLoopsPass
    : public ark::impl::InterchangeLoopsPassBase<InterchangeLoopsPass> {
  using InterchangeLoopsPassBase::InterchangeLoopsPassBase;

  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics() && op.getNumLoops() > 1 &&
          op.getNumParallelLoops() == op.getNumLoops())
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops)
      if (failed(interchange(rewriter, op)))
        return signalPassFailure();
  }

private:
  LogicalResult interchange(RewriterBase &rewriter, linalg::LinalgOp op) {
    unsigned innermost = selectInnermost(op);
    if (innermost + 1 == op.getNumLoops())
      return success();
    auto order = llvm::to_vector(llvm::seq<unsigned>(op.getNumLoops()));
    order.erase(order.begin() + innermost);
    order.push_back(innermost);
    rewriter.setInsertionPoint(op);
    auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
    if (!generic) {
      FailureOr<linalg::GenericOp> general =
          linalg::generalizeNamedOp(rewriter, op);
      if (failed(general))
        return op.emitError("cannot be generalized");
      generic = *general;
    }
    if (failed(linalg::interchangeGenericOp(rewriter, generic, order)))
      return generic.emitError("has loops that cannot be interchanged");
    ++numInterchanged;
    return success();
  }
};
} // namespace
