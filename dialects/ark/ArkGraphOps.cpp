//===- ArkGraphOps.cpp - Creation, views and elementwise ops --------------===//
//
// Checks carry the constraint labels of ArkGraphOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"
#include "mlir/Dialect/Traits.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the elements of a shape, or nothing if 64 bits cannot count them.
static std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(count, extent, count))
      return std::nullopt;
  return count;
}

/// binary_c1, binary_c2
static LogicalResult inferBroadcast(Loc loc, ArrayRef<Value> values,
                                    SmallVector<int64_t> &shape) {
  shape.assign(tensorType(values.front()).getShape().begin(),
               tensorType(values.front()).getShape().end());
  for (Value value : values.drop_front()) {
    SmallVector<int64_t> joined;
    if (!OpTrait::util::getBroadcastedShape(shape, tensorType(value).getShape(),
                                            joined))
      return emitOptionalError(loc, "shapes ", toString(shape), " and ",
                               toString(tensorType(value).getShape()),
                               " do not broadcast (binary_c2)");
    shape = joined;
  }
  return success();
}

static LogicalResult inferBinary(Loc loc, Value lhs, Value rhs, Types &types) {
  SmallVector<int64_t> shape;
  if (failed(checkSameElement(loc, "binary_c1", lhs, rhs)) ||
      failed(inferBroadcast(loc, {lhs, rhs}, shape)))
    return failure();
  return infer(types, shape, tensorType(lhs).getElementType());
}

//===----------------------------------------------------------------------===//
// Creation and views
//===----------------------------------------------------------------------===//

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, Loc, Adaptor adaptor,
                                           Types &types) {
  types.push_back(adaptor.getValue().getShapedType());
  return success();
}

LogicalResult ReshapeOp::inferReturnTypes(MLIRContext *, Loc loc,
                                          Adaptor adaptor, Types &types) {
  RankedTensorType source = tensorType(adaptor.getSource());
  ArrayRef<int64_t> shape = adaptor.getShape();
  // reshape_c1
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 0; }) ||
      !countElements(shape) ||
      countElements(shape) != countElements(source.getShape()))
    return emitOptionalError(loc, "cannot reshape ",
                             toString(source.getShape()), " to ",
                             toString(shape), " (reshape_c1)");
  return infer(types, shape, source.getElementType());
}

/// Returns the bytes of one element in memory.
static int64_t getItemSize(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

LogicalResult BitcastOp::inferReturnTypes(MLIRContext *, Loc loc,
                                          Adaptor adaptor, Types &types) {
  RankedTensorType source = tensorType(adaptor.getSource());
  Type from = source.getElementType(), to = adaptor.getDtype();
  // bitcast_c1
  if (!to.isIntOrFloat() || to.getIntOrFloatBitWidth() == 0 ||
      (to.isInteger(1) && from != to))
    return emitOptionalError(loc, "the bytes of ", from,
                             " may not be values of ", to, " (bitcast_c1)");
  int64_t fromSize = getItemSize(from), toSize = getItemSize(to);
  SmallVector<int64_t> shape(source.getShape());
  if (fromSize == toSize)
    return infer(types, shape, to);
  // bitcast_c2
  int64_t bytes = 0;
  if (shape.empty() || llvm::MulOverflow(shape.back(), fromSize, bytes) ||
      bytes % toSize != 0)
    return emitOptionalError(loc, "the last dimension of ", source,
                             " does not fill elements of ", to,
                             " (bitcast_c2)");
  shape.back() = bytes / toSize;
  return infer(types, shape, to);
}

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  RankedTensorType source = tensorType(adaptor.getSource());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  llvm::SmallBitVector seen(source.getRank());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= source.getRank() || seen.test(dim))
      break;
    seen.set(dim);
    shape.push_back(source.getDimSize(dim));
  }
  // transpose_c1
  if (permutation.size() != static_cast<size_t>(source.getRank()) ||
      !seen.all())
    return emitOptionalError(
        loc, toString(permutation),
        " is not a permutation of the dimensions of shape ",
        toString(source.getShape()), " (transpose_c1)");
  return infer(types, shape, source.getElementType());
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, Loc loc, Adaptor adaptor,
                                        Types &types) {
  RankedTensorType source = tensorType(adaptor.getSource());
  size_t rank = source.getRank();
  ArrayRef<int64_t> starts = adaptor.getStarts(), stops = adaptor.getStops(),
                    steps = adaptor.getSteps();
  // slice_c1
  if (starts.size() != rank || stops.size() != rank || steps.size() != rank)
    return emitOptionalError(loc, "needs ", rank,
                             " starts, stops and steps (slice_c1)");
  SmallVector<int64_t> shape;
  for (size_t dim = 0; dim < rank; ++dim) {
    // slice_c2
    if (starts[dim] < 0 || stops[dim] < starts[dim] ||
        stops[dim] > source.getDimSize(dim) || steps[dim] < 1)
      return emitOptionalError(loc, "slice [", starts[dim], ":", stops[dim],
                               ":", steps[dim], "] does not fit dimension ",
                               dim, " of shape ", toString(source.getShape()),
                               " (slice_c2)");
    shape.push_back(llvm::divideCeil(stops[dim] - starts[dim], steps[dim]));
  }
  return infer(types, shape, source.getElementType());
}

LogicalResult BroadcastToOp::inferReturnTypes(MLIRContext *, Loc loc,
                                              Adaptor adaptor, Types &types) {
  RankedTensorType source = tensorType(adaptor.getSource());
  ArrayRef<int64_t> shape = adaptor.getShape();
  SmallVector<int64_t> joined;
  // broadcast_to_c1
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 0; }) ||
      !OpTrait::util::getBroadcastedShape(source.getShape(), shape, joined) ||
      ArrayRef<int64_t>(joined) != shape)
    return emitOptionalError(loc, "cannot broadcast ",
                             toString(source.getShape()), " to ",
                             toString(shape), " (broadcast_to_c1)");
  return infer(types, shape, source.getElementType());
}

LogicalResult IdentityOp::inferReturnTypes(MLIRContext *, Loc, Adaptor adaptor,
                                           Types &types) {
  types.push_back(adaptor.getSource().getType());
  return success();
}

Value ReshapeOp::getViewSource() { return getSource(); }
Value TransposeOp::getViewSource() { return getSource(); }
Value SliceOp::getViewSource() { return getSource(); }
Value BroadcastToOp::getViewSource() { return getSource(); }
Value BitcastOp::getViewSource() { return getSource(); }
Value IdentityOp::getViewSource() { return getSource(); }

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, Loc loc,
                                         Adaptor adaptor, Types &types) {
  // concat_c1
  if (adaptor.getInputs().empty())
    return emitOptionalError(loc, "needs at least one tensor (concat_c1)");
  RankedTensorType first = tensorType(adaptor.getInputs().front());
  int64_t axis = adaptor.getAxis();
  // concat_c2
  if (failed(checkAxis(loc, "concat_c2", axis, first)))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value input : adaptor.getInputs()) {
    RankedTensorType type = tensorType(input);
    // concat_c1
    if (type.getRank() != first.getRank() ||
        type.getElementType() != first.getElementType())
      return emitOptionalError(loc, "cannot join ", type, " to ", first,
                               " (concat_c1)");
    // concat_c3
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != axis && type.getDimSize(dim) != first.getDimSize(dim))
        return emitOptionalError(loc, "shapes ", toString(first.getShape()),
                                 " and ", toString(type.getShape()),
                                 " differ in dimension ", dim, " (concat_c3)");
    if (llvm::AddOverflow(shape[axis], type.getDimSize(axis), shape[axis]))
      return emitOptionalError(loc, "has more than 2^63 elements in dimension ",
                               axis, " (concat_c3)");
  }
  return infer(types, shape, first.getElementType());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

#define INFER_UNARY(OP)                                                        \
  LogicalResult OP::inferReturnTypes(MLIRContext *, Loc, Adaptor adaptor,      \
                                     Types &types) {                           \
    types.push_back(adaptor.getOperand().getType());                           \
    return success();                                                          \
  }
INFER_UNARY(AbsOp)
INFER_UNARY(NegOp)
INFER_UNARY(ExpOp)
INFER_UNARY(LogOp)
INFER_UNARY(SqrtOp)
INFER_UNARY(RsqrtOp)
INFER_UNARY(ReciprocalOp)
INFER_UNARY(SinOp)
INFER_UNARY(CosOp)
INFER_UNARY(TanhOp)
INFER_UNARY(ErfOp)
INFER_UNARY(ReluOp)
INFER_UNARY(SigmoidOp)
INFER_UNARY(SiluOp)
INFER_UNARY(GeluOp)
INFER_UNARY(LogicalNotOp)
INFER_UNARY(CopyOp)
#undef INFER_UNARY

LogicalResult CastOp::inferReturnTypes(MLIRContext *, Loc loc, Adaptor adaptor,
                                       Types &types) {
  Type element = adaptor.getDtype();
  if (!element.isIntOrFloat())
    return emitOptionalError(loc, "cannot cast to ", element);
  return infer(types, tensorType(adaptor.getOperand()).getShape(), element);
}

#define INFER_BINARY(OP)                                                       \
  LogicalResult OP::inferReturnTypes(MLIRContext *, Loc loc, Adaptor adaptor,  \
                                     Types &types) {                           \
    return inferBinary(loc, adaptor.getLhs(), adaptor.getRhs(), types);        \
  }
INFER_BINARY(AddOp)
INFER_BINARY(SubOp)
INFER_BINARY(MulOp)
INFER_BINARY(DivOp)
INFER_BINARY(MaximumOp)
INFER_BINARY(MinimumOp)
INFER_BINARY(PowOp)
INFER_BINARY(LogicalAndOp)
INFER_BINARY(LogicalOrOp)
#undef INFER_BINARY

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                          Adaptor adaptor, Types &types) {
  SmallVector<Type> operand;
  if (failed(inferBinary(loc, adaptor.getLhs(), adaptor.getRhs(), operand)))
    return failure();
  return infer(types, cast<RankedTensorType>(operand.front()).getShape(),
               IntegerType::get(context, 1));
}

LogicalResult WhereOp::inferReturnTypes(MLIRContext *, Loc loc, Adaptor adaptor,
                                        Types &types) {
  SmallVector<int64_t> shape;
  if (failed(checkSameElement(loc, "binary_c1", adaptor.getLhs(),
                              adaptor.getRhs())) ||
      failed(inferBroadcast(
          loc, {adaptor.getCondition(), adaptor.getLhs(), adaptor.getRhs()},
          shape)))
    return failure();
  return infer(types, shape, tensorType(adaptor.getLhs()).getElementType());
}

LogicalResult PhiloxOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                         Adaptor adaptor, Types &types) {
  SmallVector<int64_t> shape;
  if (failed(inferBroadcast(
          loc, {adaptor.getIndex(), adaptor.getCounter(), adaptor.getSeed()},
          shape)))
    return failure();
  return infer(types, shape,
               IntegerType::get(context, 32, IntegerType::Unsigned));
}
