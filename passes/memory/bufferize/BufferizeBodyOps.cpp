//===- BufferizeBodyOps.cpp - Bufferize the ops of bodies -----------------===//

#include "passes/memory/bufferize/BufferizeBodyOps.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
template <typename OpTy>
struct BodyOpBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<
          BodyOpBufferization<OpTy>, OpTy> {
  /// Outs are overwritten, so that only inputs are read.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return cast<OpTy>(op).isDpsInput(&operand);
  }

  LogicalResult bufferize(Operation *self, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto op = cast<OpTy>(self);
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
    for (Region &region : op->getRegions())
      created.addRegion()->takeBody(region);
    rewriter.create(created);
    bufferization::replaceOpWithBufferizedValues(
        rewriter, op, ValueRange(buffers).take_back(op.getNumDpsInits()));
    return success();
  }
};
} // namespace

void ark::registerBodyOpBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ArkDialect *) {
    BlockedAttentionGradientOp::attachInterface<
        BodyOpBufferization<BlockedAttentionGradientOp>>(*context);
    OnlineAttentionOp::attachInterface<BodyOpBufferization<OnlineAttentionOp>>(
        *context);
    RowNormOp::attachInterface<BodyOpBufferization<RowNormOp>>(*context);
  });
}
