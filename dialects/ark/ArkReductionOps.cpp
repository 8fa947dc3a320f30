//===- ArkReductionOps.cpp - Reductions and normalisations ----------------===//
//
// Checks carry the constraint labels of ArkAnchorOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::ark;

static LogicalResult inferReduce(Loc loc, Value operand, ArrayRef<int64_t> axes,
                                 bool keepdims, Types &types) {
  RankedTensorType type = tensorType(operand);
  llvm::SmallBitVector reduced(type.getRank());
  for (int64_t axis : axes) {
    // reduce_c1
    if (failed(checkAxis(loc, "reduce_c1", axis, type)))
      return failure();
    if (reduced.test(axis))
      return emitOptionalError(loc, "axis ", axis,
                               " is named twice (reduce_c1)");
    reduced.set(axis);
  }
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!reduced.test(dim))
      shape.push_back(type.getDimSize(dim));
    else if (keepdims)
      shape.push_back(1);
  }
  return infer(types, shape, type.getElementType());
}

#define INFER_REDUCE(OP)                                                       \
  LogicalResult OP::inferReturnTypes(MLIRContext *, Loc loc, Adaptor adaptor,  \
                                     Types &types) {                           \
    return inferReduce(loc, adaptor.getOperand(), adaptor.getAxes(),           \
                       adaptor.getKeepdims(), types);                          \
  }
INFER_REDUCE(ReduceSumOp)
INFER_REDUCE(ReduceMeanOp)
INFER_REDUCE(ReduceMaxOp)
INFER_REDUCE(ReduceMinOp)
#undef INFER_REDUCE

/// Returns the operand's shape without one dimension, which must not be empty.
static FailureOr<SmallVector<int64_t>> dropDim(Loc loc, StringRef label,
                                               StringRef opName, Value operand,
                                               int64_t axis) {
  RankedTensorType type = tensorType(operand);
  if (failed(checkAxis(loc, label, axis, type)))
    return failure();
  if (type.getDimSize(axis) == 0)
    return emitOptionalError(loc, opName, " of an empty dimension (", label,
                             ")");
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  return shape;
}

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                         Adaptor adaptor, Types &types) {
  // argmax_c1
  FailureOr<SmallVector<int64_t>> shape = dropDim(
      loc, "argmax_c1", "argmax", adaptor.getOperand(), adaptor.getAxis());
  if (failed(shape))
    return failure();
  return infer(types, *shape, IntegerType::get(context, 32));
}

LogicalResult PartialArgmaxOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                                Adaptor adaptor, Types &types) {
  int64_t axis = adaptor.getAxis();
  // partial_argmax_c1
  FailureOr<SmallVector<int64_t>> shape =
      dropDim(loc, "partial_argmax_c1", "argmax", adaptor.getOperand(), axis);
  if (failed(shape))
    return failure();
  if (axis == 0)
    return emitOptionalError(
        loc, "the dimension before `axis` holds the partitions, so axis 0 is "
             "invalid (partial_argmax_c1)");
  RankedTensorType type = tensorType(adaptor.getOperand());
  // partial_argmax_c2
  if (type.getElementTypeBitWidth() > 32)
    return emitOptionalError(loc, "elements of ", type.getElementType(),
                             " have more than 32 bits (partial_argmax_c2)");
  // partial_argmax_c3
  constexpr int64_t kMaxIndices = std::numeric_limits<int32_t>::max();
  if (type.getDimSize(axis - 1) > kMaxIndices / type.getDimSize(axis))
    return emitOptionalError(loc, "indices of ", type.getDimSize(axis - 1),
                             " partitions of ", type.getDimSize(axis),
                             " elements do not fit i32 (partial_argmax_c3)");
  return infer(types, *shape, IntegerType::get(context, 64));
}

LogicalResult CombineArgmaxOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                                Adaptor adaptor, Types &types) {
  // combine_argmax_c1
  FailureOr<SmallVector<int64_t>> shape =
      dropDim(loc, "combine_argmax_c1", "argmax", adaptor.getOperand(),
              adaptor.getAxis());
  if (failed(shape))
    return failure();
  return infer(types, *shape, IntegerType::get(context, 32));
}

LogicalResult TopThresholdOp::inferReturnTypes(MLIRContext *, Loc loc,
                                               Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  // top_threshold_c1
  if (type.getRank() == 0 || type.getShape().back() == 0)
    return emitOptionalError(loc, "shape ", toString(type.getShape()),
                             " has no last dimension of positive extent "
                             "(top_threshold_c1)");
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = 1;
  return infer(types, shape, type.getElementType());
}

LogicalResult SoftmaxOp::inferReturnTypes(MLIRContext *, Loc loc,
                                          Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  // softmax_c1
  if (failed(checkAxis(loc, "softmax_c1", adaptor.getAxis(), type)))
    return failure();
  types.push_back(type);
  return success();
}

static LogicalResult inferNorm(Loc loc, Value operand, ArrayRef<Value> vectors,
                               Types &types) {
  RankedTensorType type = tensorType(operand);
  // norm_c1
  if (type.getRank() == 0)
    return emitOptionalError(loc,
                             "needs a tensor of rank one or more (norm_c1)");
  auto expected =
      RankedTensorType::get(type.getShape().take_back(), type.getElementType());
  // norm_c2
  for (Value vector : vectors)
    if (vector && vector.getType() != expected)
      return emitOptionalError(loc, "weight or bias is ", vector.getType(),
                               " where ", expected, " is needed (norm_c2)");
  types.push_back(type);
  return success();
}

LogicalResult LayernormOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  return inferNorm(loc, adaptor.getOperand(),
                   {adaptor.getWeight(), adaptor.getBias()}, types);
}

LogicalResult RmsnormOp::inferReturnTypes(MLIRContext *, Loc loc,
                                          Adaptor adaptor, Types &types) {
  return inferNorm(loc, adaptor.getOperand(), {adaptor.getWeight()}, types);
}

Attribute ReduceSumOp::getValueIfEmpty() {
  return isEmpty(getOperand()) ? getZero(getType().getElementType())
                               : TypedAttr();
}

Attribute ReduceMeanOp::getValueIfEmpty() {
  if (!isEmpty(getOperand()))
    return {};
  auto element = cast<FloatType>(getType().getElementType());
  return FloatAttr::get(element, APFloat::getNaN(element.getFloatSemantics()));
}

Attribute ReduceMaxOp::getValueIfEmpty() {
  return isEmpty(getOperand())
             ? getLimit(getType().getElementType(), /*least=*/true)
             : TypedAttr();
}

Attribute ReduceMinOp::getValueIfEmpty() {
  return isEmpty(getOperand())
             ? getLimit(getType().getElementType(), /*least=*/false)
             : TypedAttr();
}
