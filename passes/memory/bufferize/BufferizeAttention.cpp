//===- BufferizeAttention.cpp - Bufferize an attention --------------------===//

#include "passes/memory/bufferize/BufferizeAttention.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
struct AttentionBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<
          AttentionBufferization, OnlineAttentionOp> {
  /// Outs are overwritten, so that only inputs are read.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return cast<OnlineAttentionOp>(op).isDpsInput(&operand);
  }

  LogicalResult bufferize(Operation *self, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto op = cast<OnlineAttentionOp>(self);
    SmallVector<Value> buffers;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> buffer =
          bufferization::getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    rewriter.setInsertionPoint(op);
    OperationState created(op.getLoc(), op->getName(), buffers, TypeRange(),
                           op->getAttrs());
    created.addRegion()->takeBody(op.getRegion());
    rewriter.create(created);
    bufferization::replaceOpWithBufferizedValues(
        rewriter, op,
        ValueRange(buffers).take_back(OnlineAttentionOp::kNumOuts));
    return success();
  }
};
} // namespace

void ark::registerAttentionBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ArkDialect *) {
    OnlineAttentionOp::attachInterface<AttentionBufferization>(*context);
  });
}
