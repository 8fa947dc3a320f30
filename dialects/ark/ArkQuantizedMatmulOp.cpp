//===- ArkQuantizedMatmulOp.cpp - Products with quantized weights ---------===//
//
// Checks carry the constraint labels of ArkQuantizedOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"

using namespace mlir;
using namespace mlir::ark;

Attribute QuantizedMatmulOp::getValueIfEmpty() {
  return isEmpty(getLhs()) ? getZero(getType().getElementType()) : TypedAttr();
}

int64_t QuantizedMatmulOp::getGroup() {
  return tensorType(getLhs()).getDimSize(1) /
         tensorType(getScales()).getDimSize(1);
}

LogicalResult QuantizedMatmulOp::inferReturnTypes(MLIRContext *, Loc loc,
                                                  Adaptor adaptor,
                                                  Types &types) {
  RankedTensorType lhs = tensorType(adaptor.getLhs());
  RankedTensorType weights = tensorType(adaptor.getWeights());
  RankedTensorType scales = tensorType(adaptor.getScales());
  // quantized_matmul_c1
  for (RankedTensorType type : {lhs, weights, scales})
    if (type.getRank() != 2)
      return emitOptionalError(loc, "needs matrices, not a tensor of shape ",
                               toString(type.getShape()),
                               " (quantized_matmul_c1)");
  int64_t perByte = weights.getElementType().isInteger(8) ? 2 : 1;
  int64_t depth = lhs.getDimSize(1);
  // quantized_matmul_c2
  if (weights.getDimSize(1) * perByte != depth)
    return emitOptionalError(
        loc, "rows of weights have ", weights.getDimSize(1) * perByte,
        " elements, and rows of the input ", depth, " (quantized_matmul_c2)");
  // quantized_matmul_c3
  int64_t groups = scales.getDimSize(1);
  if (scales.getDimSize(0) != weights.getDimSize(0) || groups == 0 ||
      depth % groups != 0 || depth / groups % perByte != 0)
    return emitOptionalError(
        loc, "scales of shape ", toString(scales.getShape()),
        " do not divide the rows of ", weights.getDimSize(0), " x ", depth,
        " weights into equal groups", perByte == 2 ? " of whole bytes" : "",
        " (quantized_matmul_c3)");
  // quantized_matmul_c4
  if (Value zeros = adaptor.getZeros()) {
    if (perByte == 1)
      return emitOptionalError(
          loc, "weights of 8-bit floats have no zeros (quantized_matmul_c4)");
    if (tensorType(zeros).getShape() != scales.getShape())
      return emitOptionalError(
          loc, "zeros of shape ", toString(tensorType(zeros).getShape()),
          " differ from scales of shape ", toString(scales.getShape()),
          " (quantized_matmul_c4)");
  }
  return infer(types, {lhs.getDimSize(0), weights.getDimSize(0)},
               lhs.getElementType());
}
