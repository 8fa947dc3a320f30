//===- VerifyInput.cpp - What the compiler cannot execute yet -------------===//

#include "passes/graph/Passes.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYINPUTPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// The element type that no later stage can compute with, or null.
static LogicalResult checkOp(Operation &op) {
  if (isa<CollectiveOpInterface>(op))
    return op.emitError("'")
           << op.getName() << "' cannot be executed yet: programs run on one "
           << "rank, without collectives";
  if (isa<ViewOpInterface, ElementwiseOpInterface, AnchorOpInterface,
          ConstantOp, ConcatOp, GroupOp, ReturnOp>(op))
    return success();
  return op.emitError("'") << op.getName()
                           << "' is not an op of a tensor program; the graph "
                              "stage takes ark ops on tensors";
}

namespace {
struct VerifyInputPass : ark::impl::VerifyInputPassBase<VerifyInputPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (program.isBufferized()) {
      program.emitError("program '")
          << program.getSymName()
          << "' works on buffers already; the graph stage takes tensors";
      return signalPassFailure();
    }
    for (Operation &op : program.getBody().front())
      if (failed(checkOp(op)))
        return signalPassFailure();
  }
};
} // namespace
