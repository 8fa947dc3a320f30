//===- IsolateResults.cpp - Give every result a separate op ---------------===//

#include "lib/support/GraphUtils.h"
#include "passes/graph/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::ark {
#define GEN_PASS_DEF_ISOLATERESULTSPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct IsolateResultsPass
    : ark::impl::IsolateResultsPassBase<IsolateResultsPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    auto ret = cast<ReturnOp>(program.getBody().front().getTerminator());
    OpBuilder builder(ret);
    llvm::SmallPtrSet<Value, 8> seen;
    for (OpOperand &operand : ret->getOpOperands()) {
      Value value = operand.get();
      Operation *op = value.getDefiningOp();
      // The result of an update is the state's buffer, not a new buffer. A
      // tensor from another rank is written by that rank.
      bool isNewBuffer =
          op && !isa<ViewOpInterface, ConstantOp, ChannelOpInterface>(op) &&
          !isState(value);
      if (isNewBuffer && seen.insert(value).second)
        continue;
      operand.set(CopyOp::create(builder, value.getLoc(), value));
      ++numCopies;
    }
  }
};
} // namespace
