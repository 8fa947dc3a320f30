//===- GatheredMatrix.cpp - Slices of a gathered matrix -------------------===//

#include "passes/tiling/tasks/TaskBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::ark;

using tensor::ExtractSliceOp;

/// Reads and checks the index at an offset. The slice makes one element the
/// region of the indices.
static Value readIndex(OpBuilder &builder, GatherOp gather,
                       OpFoldResult offset) {
  Location loc = gather.getLoc();
  SmallVector<OpFoldResult> one = {builder.getIndexAttr(1)};
  Value element =
      ExtractSliceOp::create(builder, loc, gather.getIndices(),
                             SmallVector<OpFoldResult>{offset}, one, one);
  Value loaded = tensor::ExtractOp::create(
      builder, loc, element,
      ValueRange{arith::ConstantIndexOp::create(builder, loc, 0)});
  Value index =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), loaded);
  auto table = cast<RankedTensorType>(gather.getSource().getType());
  Value limit =
      arith::ConstantIndexOp::create(builder, loc, table.getDimSize(0));
  return CheckIndexOp::create(builder, loc, index, limit);
}

FailureOr<Value> ark::sliceGatheredMatrix(RewriterBase &rewriter,
                                          ExtractSliceOp slice,
                                          GatherOp gather) {
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  if (!isConstantIntValue(sizes.front(), 1) || !slice.hasUnitStride() ||
      slice.getType().getRank() != 3)
    return failure();
  // The offset is not a function of the grid, so that the region of the table
  // covers all of its matrices.
  offsets.front() = readIndex(rewriter, gather, offsets.front());
  return Value(ExtractSliceOp::create(rewriter, gather.getLoc(),
                                      gather.getSource(), offsets, sizes,
                                      slice.getMixedStrides()));
}
