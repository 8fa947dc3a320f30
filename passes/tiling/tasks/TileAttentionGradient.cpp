//===- TileAttentionGradient.cpp - Tiles of the gradient of an attention --===//

#include "passes/tiling/tasks/TileBodyOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// Limits the queries of a tile of keys to those that may see its first key:
/// with a causal mask, the queries from `key + queries - keys` on.
static void limitQueries(OpBuilder &builder, BlockedAttentionGradientOp op,
                         OpFoldResult firstKey, OpFoldResult &offset,
                         OpFoldResult &size) {
  int64_t keys = op.getStaticLoopRanges()[op.getNumRowLoops() - 1];
  Location loc = op.getLoc();
  AffineExpr key = builder.getAffineSymbolExpr(0),
             queries = builder.getAffineSymbolExpr(1);
  // Bodies have no maximum, so that max(first, 0) is -min(-first, 0).
  OpFoldResult before = affine::makeComposedFoldedAffineMin(
      builder, loc,
      AffineMap::get(
          0, 2, {(key + queries - keys) * -1, builder.getAffineConstantExpr(0)},
          builder.getContext()),
      {firstKey, size});
  auto apply = [&](AffineExpr expr, ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineApply(
        builder, loc, AffineMap::get(0, operands.size(), expr), operands);
  };
  offset = apply(builder.getAffineSymbolExpr(0) * -1, {before});
  size = apply(builder.getAffineSymbolExpr(0) + builder.getAffineSymbolExpr(1),
               {size, before});
}

/// Limits the others of a tile of rows: to queries that may see a row, or to
/// keys that a row may see.
static void limitOthers(OpBuilder &builder, BlockedAttentionGradientOp op,
                        SmallVector<OpFoldResult> &offsets,
                        SmallVector<OpFoldResult> &sizes) {
  if (!op.getCausal())
    return;
  unsigned row = op.getNumRowLoops() - 1, other = op.getOtherLoop();
  if (op.hasKeyRows())
    return limitQueries(builder, op, offsets[row], offsets[other],
                        sizes[other]);
  sizes[other] = limitCausalKeys(builder, op.getLoc(), offsets[row], sizes[row],
                                 sizes[other], op.getStaticLoopRanges()[row]);
}

namespace {
/// Tiles divide the rows. Each tile has all others (keys or queries) that its
/// rows need.
struct AttentionGradientTiling
    : TilingInterface::ExternalModel<AttentionGradientTiling,
                                     BlockedAttentionGradientOp> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *self) const {
    auto op = cast<BlockedAttentionGradientOp>(self);
    SmallVector<utils::IteratorType> types(op.getNumLoops(),
                                           utils::IteratorType::reduction);
    for (unsigned row = 0; row < op.getNumRowLoops(); ++row)
      types[row] = utils::IteratorType::parallel;
    return types;
  }

  SmallVector<Range> getIterationDomain(Operation *self,
                                        OpBuilder &builder) const {
    return getLoopDomain(
        builder, cast<BodyOpInterface>(self),
        llvm::map_to_vector(self->getOpOperands(),
                            [](OpOperand &operand) { return &operand; }));
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *self, OpBuilder &builder,
                         ArrayRef<OpFoldResult> allOffsets,
                         ArrayRef<OpFoldResult> allSizes) const {
    auto op = cast<BlockedAttentionGradientOp>(self);
    SmallVector<OpFoldResult> offsets(allOffsets), sizes(allSizes);
    limitOthers(builder, op, offsets, sizes);
    TilingResult result =
        tileBodyOp(builder, cast<BodyOpInterface>(self), offsets, sizes);
    auto tiled = cast<BlockedAttentionGradientOp>(result.tiledOps.front());
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

  /// Computes whole rows, and takes the columns of the tile from them.
  FailureOr<TilingResult>
  generateResultTileValue(Operation *self, OpBuilder &builder,
                          unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    auto op = cast<BlockedAttentionGradientOp>(self);
    OpOperand &out = *op.getDpsInitOperand(resultNumber);
    // Other results are memory of the op.
    if (!op.fillsOut(out))
      return failure();
    SmallVector<OpFoldResult> allOffsets, allSizes;
    for (const Range &range : getIterationDomain(self, builder)) {
      allOffsets.push_back(range.offset);
      allSizes.push_back(range.size);
    }
    unsigned rows = op.getNumRowLoops();
    for (unsigned row = 0; row < rows; ++row) {
      allOffsets[row] = offsets[row];
      allSizes[row] = sizes[row];
    }
    FailureOr<TilingResult> result =
        getTiledImplementation(self, builder, allOffsets, allSizes);
    if (failed(result))
      return failure();
    result->tiledValues = {
        sliceColumns(builder, result->tiledValues[resultNumber],
                     op.getShape(&out).back(), offsets, sizes)};
    return result;
  }
};
} // namespace

void ark::registerAttentionGradientTiling(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ArkDialect *) {
    BlockedAttentionGradientOp::attachInterface<AttentionGradientTiling>(
        *context);
  });
}
