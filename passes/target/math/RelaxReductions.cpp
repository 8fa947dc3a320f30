//===- RelaxReductions.cpp - Lets reductions reassociate ------------------===//

#include "passes/target/math/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::ark {
#define GEN_PASS_DEF_RELAXREDUCTIONSPASS
#include "passes/target/math/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Adds flags to the fast-math flags of an op.
static void addFlags(arith::ArithFastMathInterface op,
                     arith::FastMathFlags flags) {
  StringRef name = op.getFastMathAttrName();
  flags = op.getFastMathFlagsAttr().getValue() | flags;
  op->setAttr(name, arith::FastMathFlagsAttr::get(op->getContext(), flags));
}

/// Returns the op that combines an accumulator with a new value, if it is a
/// floating-point sum or product.
static Operation *findCombiner(linalg::GenericOp op, unsigned result) {
  Operation *yield = op.getBlock()->getTerminator();
  Operation *combiner = yield->getOperand(result).getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::MulFOp>(combiner))
    return nullptr;
  Value accumulator = op.getRegionOutputArgs()[result];
  return llvm::is_contained(combiner->getOperands(), accumulator) ? combiner
                                                                  : nullptr;
}

namespace {
struct RelaxReductionsPass
    : ark::impl::RelaxReductionsPassBase<RelaxReductionsPass> {
  using RelaxReductionsPassBase::RelaxReductionsPassBase;

  void runOnOperation() override {
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.getNumReductionLoops() == 0)
        return;
      for (unsigned result = 0; result < op.getNumDpsInits(); ++result)
        if (Operation *combiner = findCombiner(op, result))
          relax(combiner);
    });
  }

private:
  void relax(Operation *combiner) {
    using arith::FastMathFlags;
    addFlags(cast<arith::ArithFastMathInterface>(combiner),
             FastMathFlags::reassoc | FastMathFlags::contract);
    // A product and the following addition may be contracted to an fma.
    for (Value operand : combiner->getOperands())
      if (auto product = operand.getDefiningOp<arith::MulFOp>())
        addFlags(cast<arith::ArithFastMathInterface>(*product),
                 FastMathFlags::contract);
    ++numRelaxed;
  }
};
} // namespace
