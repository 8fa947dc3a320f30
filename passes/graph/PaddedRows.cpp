//===- PaddedRows.cpp - Zeros behind the elements of rows -----------------===//

#include "passes/graph/PaddedRows.h"

#include "dialects/ark/ArkOps.h"
#include "lib/support/GraphUtils.h"

using namespace mlir;
using namespace mlir::ark;

Value ark::createZeros(OpBuilder &builder, Location loc,
                       RankedTensorType type) {
  return ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
}

Value ark::dropPitch(OpBuilder &builder, Location loc, Value tensor,
                     int64_t extent) {
  RankedTensorType type = getTensorType(tensor);
  if (type.getShape().back() == extent)
    return tensor;
  SmallVector<int64_t> shape(type.getShape()), starts(type.getRank(), 0),
      steps(type.getRank(), 1);
  shape.back() = extent;
  return SliceOp::create(builder, loc, type.clone(shape), tensor, starts, shape,
                         steps);
}
