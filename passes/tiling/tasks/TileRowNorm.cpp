//===- TileRowNorm.cpp - Tiles of a norm ----------------------------------===//

#include "passes/tiling/tasks/TileBodyOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Tiles divide the rows. Each tile has all columns of its rows.
struct RowNormTiling
    : TilingInterface::ExternalModel<RowNormTiling, RowNormOp> {
  SmallVector<utils::IteratorType> getLoopIteratorTypes(Operation *self) const {
    auto op = cast<RowNormOp>(self);
    SmallVector<utils::IteratorType> types(op.getNumLoops(),
                                           utils::IteratorType::parallel);
    types[op.getColumnLoop()] = utils::IteratorType::reduction;
    return types;
  }

  SmallVector<Range> getIterationDomain(Operation *self,
                                        OpBuilder &builder) const {
    auto op = cast<RowNormOp>(self);
    return llvm::map_to_vector(
        tensor::getMixedSizes(builder, op.getLoc(), op.getOut()),
        [&](OpFoldResult size) {
          return Range{builder.getIndexAttr(0), size, builder.getIndexAttr(1)};
        });
  }

  FailureOr<TilingResult>
  getTiledImplementation(Operation *self, OpBuilder &builder,
                         ArrayRef<OpFoldResult> offsets,
                         ArrayRef<OpFoldResult> sizes) const {
    auto op = cast<RowNormOp>(self);
    if (!isZeroInteger(offsets.back()) ||
        getConstantIntValue(sizes.back()) != op.getNumColumns())
      return failure();
    return tileBodyOp(builder, cast<BodyOpInterface>(self), offsets, sizes);
  }

  LogicalResult
  getResultTilePosition(Operation *, OpBuilder &, unsigned resultNumber,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes,
                        SmallVector<OpFoldResult> &resultOffsets,
                        SmallVector<OpFoldResult> &resultSizes) const {
    // All outs except the first one lack the dimension of columns.
    size_t dims = offsets.size() - (resultNumber == 0 ? 0 : 1);
    llvm::append_range(resultOffsets, offsets.take_front(dims));
    llvm::append_range(resultSizes, sizes.take_front(dims));
    return success();
  }

  /// Computes whole rows, and takes the columns of the tile from them.
  FailureOr<TilingResult>
  generateResultTileValue(Operation *self, OpBuilder &builder,
                          unsigned resultNumber, ArrayRef<OpFoldResult> offsets,
                          ArrayRef<OpFoldResult> sizes) const {
    auto op = cast<RowNormOp>(self);
    // The other outs are memory of the op and not results that readers use.
    if (resultNumber != 0)
      return failure();
    SmallVector<OpFoldResult> begins(offsets), extents(sizes);
    begins.back() = builder.getIndexAttr(0);
    extents.back() = builder.getIndexAttr(op.getNumColumns());
    FailureOr<TilingResult> result =
        getTiledImplementation(self, builder, begins, extents);
    if (failed(result))
      return failure();
    result->tiledValues = {sliceColumns(builder, result->tiledValues.front(),
                                        op.getNumColumns(), offsets, sizes)};
    return result;
  }
};
} // namespace

void ark::registerRowNormTiling(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ArkDialect *) {
    RowNormOp::attachInterface<RowNormTiling>(*context);
  });
}
