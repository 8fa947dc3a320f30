//===- TileAttention.cpp - Tiles of an attention --------------------------===//

#include "passes/tiling/tasks/TileBodyOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the number of keys that the queries of a tile may attend to.
static OpFoldResult limitKeys(OpBuilder &builder, OnlineAttentionOp op,
                              ArrayRef<OpFoldResult> offsets,
                              ArrayRef<OpFoldResult> sizes) {
  OpFoldResult keys = sizes[op.getKeyLoop()];
  if (!op.getCausal())
    return keys;
  unsigned queryLoop = op.getNumRowLoops() - 1;
  return limitCausalKeys(builder, op.getLoc(), offsets[queryLoop],
                         sizes[queryLoop], keys,
                         op.getStaticLoopRanges()[queryLoop]);
}

namespace {
/// Tiles divide the rows and the columns. Each tile has all keys that its rows
/// may attend to.
struct AttentionTiling
    : TilingInterface::ExternalModel<AttentionTiling, OnlineAttentionOp> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *self) const {
    auto op = cast<OnlineAttentionOp>(self);
    SmallVector<utils::IteratorType> types(op.getNumLoops(),
                                           utils::IteratorType::parallel);
    types[op.getKeyLoop()] = utils::IteratorType::reduction;
    types[op.getDepthLoop()] = utils::IteratorType::reduction;
    return types;
  }

  SmallVector<Range> getIterationDomain(Operation *self,
                                        OpBuilder &builder) const {
    auto op = cast<OnlineAttentionOp>(self);
    // The outs of rows, keys and columns, and the query with its depth.
    return getLoopDomain(builder, cast<BodyOpInterface>(self),
                         {op.getDpsInitOperand(0), op.getDpsInitOperand(3),
                          &op.getQueryMutable()});
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *self, OpBuilder &builder,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> allSizes) const {
    auto op = cast<OnlineAttentionOp>(self);
    SmallVector<OpFoldResult> sizes(allSizes);
    sizes[op.getKeyLoop()] = limitKeys(builder, op, offsets, sizes);
    TilingResult result =
        tileBodyOp(builder, cast<BodyOpInterface>(self), offsets, sizes);
    auto tiled = cast<OnlineAttentionOp>(result.tiledOps.front());
    // The extents of the tile's loops are not those of the mask.
    tiled.setCausal(false);
    offsetIndices(builder, tiled, tiled.getIndices(), offsets);
    return result;
  }

  LogicalResult
  getResultTilePosition(Operation *self, OpBuilder &, unsigned resultNumber,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    getResultPosition(cast<BodyOpInterface>(self), resultNumber, offsets, sizes,
                      resultOffsets, resultSizes);
    return success();
  }

  FailureOr<TilingResult>
  generateResultTileValue(Operation *self, OpBuilder &builder,
                          unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    auto op = cast<OnlineAttentionOp>(self);
    SmallVector<OpFoldResult> allOffsets, allSizes;
    for (const Range &range : getIterationDomain(self, builder)) {
      allOffsets.push_back(range.offset);
      allSizes.push_back(range.size);
    }
    AffineMap map = op.getMap(*op.getDpsInitOperand(resultNumber));
    // Scores are memory of the op, not a result.
    if (map.isFunctionOfDim(op.getKeyLoop()))
      return failure();
    for (auto [expr, offset, size] :
         llvm::zip(map.getResults(), offsets, sizes)) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      allOffsets[loop] = offset;
      allSizes[loop] = size;
    }
    FailureOr<TilingResult> result =
        getTiledImplementation(self, builder, allOffsets, allSizes);
    if (succeeded(result))
      result->tiledValues = {result->tiledValues[resultNumber]};
    return result;
  }
};
} // namespace

void ark::registerAttentionTiling(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ArkDialect *) {
    OnlineAttentionOp::attachInterface<AttentionTiling>(*context);
  });
}
