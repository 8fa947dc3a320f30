//===- ArkNormGradientOps.cpp - Gradients of norms ------------------------===//
//
// Checks carry the constraint labels of ArkGradientOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"

using namespace mlir;
using namespace mlir::ark;

LogicalResult NormInputGradientOp::inferReturnTypes(MLIRContext *, Loc loc,
                                                    Adaptor adaptor,
                                                    Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  // norm_gradient_c1
  if (type.getRank() == 0)
    return emitOptionalError(
        loc, "needs a tensor of rank one or more (norm_gradient_c1)");
  // norm_gradient_c2
  if (adaptor.getCotangent().getType() != type)
    return emitOptionalError(loc, "the cotangent is ",
                             adaptor.getCotangent().getType(), " where ", type,
                             " is needed (norm_gradient_c2)");
  // norm_gradient_c3
  auto expected =
      RankedTensorType::get(type.getShape().take_back(), type.getElementType());
  if (Value weight = adaptor.getWeight();
      weight && weight.getType() != expected)
    return emitOptionalError(loc, "the weight is ", weight.getType(), " where ",
                             expected, " is needed (norm_gradient_c3)");
  types.push_back(type);
  return success();
}

LogicalResult NormStatisticsOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                                 Adaptor adaptor,
                                                 Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  // norm_statistics_c1
  if (type.getRank() == 0 || type.getShape().back() == 0)
    return emitOptionalError(loc, "shape ", toString(type.getShape()),
                             " has no last dimension of positive extent "
                             "(norm_statistics_c1)");
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = adaptor.getCentred() ? 2 : 1;
  return infer(types, shape, Float32Type::get(context));
}
