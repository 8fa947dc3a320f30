//===- VerifyInput.cpp - Reject unsupported programs ----------------------===//

#include "dialects/ark/ArkLimits.h"
#include "passes/graph/Passes.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYINPUTPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Checks that no dimension is empty that an anchor has to read.
static LogicalResult checkExtents(Operation &op) {
  auto anchor = dyn_cast<AnchorOpInterface>(op);
  if (StringRef empty = anchor ? anchor.getEmptyRead() : ""; !empty.empty())
    return op.emitError("'") << op.getName() << "' " << empty;
  return success();
}

/// input_c1
static LogicalResult checkSizes(Operation &op) {
  for (Type type : op.getResultTypes())
    if (auto shaped = dyn_cast<ShapedType>(type);
        shaped && !isAddressable(shaped))
      return op.emitError("'") << op.getName() << "' has a result of type "
                               << type << ", more than 2^47 bytes (input_c1)";
  return success();
}

static bool isCommunication(Operation &op) {
  return isa<CollectiveOpInterface, ChannelOpenOp, ChannelPutOp,
             ChannelPutPacketOp, ChannelSignalOp, ChannelWaitOp, ChannelGetOp,
             ChannelReadPacketOp>(op);
}

static LogicalResult checkOp(ProgramOp program, Operation &op) {
  if (isCommunication(op)) {
    if (program.getRank() && program.getWorldSize())
      return checkSizes(op);
    return op.emitError("'")
           << op.getName() << "' needs a program with rank and world_size";
  }
  if (isa<ViewOpInterface, ElementwiseOpInterface, AnchorOpInterface,
          ConstantOp, GroupOp, NoopOp, ReturnOp>(op))
    return failure(failed(checkSizes(op)) || failed(checkExtents(op)));
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
      if (failed(checkOp(program, op)))
        return signalPassFailure();
  }
};
} // namespace
