//===- ArkGraphOps.cpp - Type inference of the tensor ops
//-------------------===//
//
// Checks carry the constraint labels of ArkGraphOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Traits.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::ark;

using Loc = std::optional<Location>;
using Types = SmallVectorImpl<Type>;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Shapes in messages read as users write them: `[4, 64]`.
static std::string toString(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return text;
}

static LogicalResult infer(Types &types, ArrayRef<int64_t> shape,
                           Type element) {
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

static int64_t product(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

static LogicalResult checkAxis(Loc loc, StringRef label, int64_t axis,
                               RankedTensorType type) {
  if (axis >= 0 && axis < type.getRank())
    return success();
  return emitOptionalError(loc, "axis ", axis, " is not a dimension of shape ",
                           toString(type.getShape()), " (", label, ")");
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

static LogicalResult checkSameElement(Loc loc, StringRef label, Value a,
                                      Value b) {
  if (tensorType(a).getElementType() == tensorType(b).getElementType())
    return success();
  return emitOptionalError(loc, "operands have different element types, ",
                           tensorType(a).getElementType(), " and ",
                           tensorType(b).getElementType(),
                           "; cast one of them (", label, ")");
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
      product(shape) != source.getNumElements())
    return emitOptionalError(loc, "cannot reshape ",
                             toString(source.getShape()), " to ",
                             toString(shape), " (reshape_c1)");
  return infer(types, shape, source.getElementType());
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
    shape.push_back((stops[dim] - starts[dim] + steps[dim] - 1) / steps[dim]);
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
    shape[axis] += type.getDimSize(axis);
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

//===----------------------------------------------------------------------===//
// Reductions and normalisations
//===----------------------------------------------------------------------===//

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

LogicalResult ArgmaxOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                         Adaptor adaptor, Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  int64_t axis = adaptor.getAxis();
  // argmax_c1
  if (failed(checkAxis(loc, "argmax_c1", axis, type)))
    return failure();
  if (type.getDimSize(axis) == 0)
    return emitOptionalError(loc, "argmax of an empty dimension (argmax_c1)");
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + axis);
  return infer(types, shape, IntegerType::get(context, 32));
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

//===----------------------------------------------------------------------===//
// Linear algebra, attention, position
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, Loc loc,
                                         Adaptor adaptor, Types &types) {
  RankedTensorType lhs = tensorType(adaptor.getLhs());
  RankedTensorType rhs = tensorType(adaptor.getRhs());
  // matmul_c1
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return emitOptionalError(loc, "needs operands of rank two or more, not ",
                             toString(lhs.getShape()), " and ",
                             toString(rhs.getShape()), " (matmul_c1)");
  if (failed(checkSameElement(loc, "matmul_c1", adaptor.getLhs(),
                              adaptor.getRhs())))
    return failure();
  auto matrix = [](RankedTensorType type, bool transposed) {
    ArrayRef<int64_t> tail = type.getShape().take_back(2);
    return transposed ? std::pair(tail[1], tail[0])
                      : std::pair(tail[0], tail[1]);
  };
  auto [m, k] = matrix(lhs, adaptor.getTransposeInput());
  auto [otherK, n] = matrix(rhs, adaptor.getTransposeOther());
  // matmul_c2
  if (k != otherK)
    return emitOptionalError(loc, "contracted extents differ, ", k, " and ",
                             otherK, ", in shapes ", toString(lhs.getShape()),
                             " and ", toString(rhs.getShape()), " (matmul_c2)");
  SmallVector<int64_t> shape;
  // matmul_c3
  if (!OpTrait::util::getBroadcastedShape(lhs.getShape().drop_back(2),
                                          rhs.getShape().drop_back(2), shape))
    return emitOptionalError(
        loc, "leading dimensions of ", toString(lhs.getShape()), " and ",
        toString(rhs.getShape()), " do not broadcast (matmul_c3)");
  shape.append({m, n});
  Type element = lhs.getElementType();
  // 8-bit floats are storage only: their products are f32.
  if (auto floatType = dyn_cast<FloatType>(element);
      floatType && floatType.getWidth() == 8)
    element = Float32Type::get(element.getContext());
  return infer(types, shape, element);
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  RankedTensorType query = tensorType(adaptor.getQuery());
  RankedTensorType key = tensorType(adaptor.getKey());
  RankedTensorType value = tensorType(adaptor.getValue());
  int64_t rank = query.getRank();
  // attention_c1
  if (rank < 3 || key.getRank() != rank || value.getRank() != rank)
    return emitOptionalError(
        loc, "q, k and v need one rank, three or more (attention_c1)");
  if (failed(checkSameElement(loc, "attention_c1", adaptor.getQuery(),
                              adaptor.getKey())) ||
      failed(checkSameElement(loc, "attention_c1", adaptor.getQuery(),
                              adaptor.getValue())))
    return failure();
  ArrayRef<int64_t> q = query.getShape(), k = key.getShape(),
                    v = value.getShape();
  int64_t heads = q[rank - 3], kvHeads = k[rank - 3];
  // attention_c2
  bool fits = q.drop_back(3) == k.drop_back(3) &&
              k.drop_back(1) == v.drop_back(1) && q[rank - 1] == k[rank - 1] &&
              kvHeads > 0 && heads % kvHeads == 0;
  if (!fits)
    return emitOptionalError(loc, "q ", toString(q), ", k ", toString(k),
                             " and v ", toString(v),
                             " do not fit together (attention_c2)");
  if (Value mask = adaptor.getMask()) {
    SmallVector<int64_t> scores(q.drop_back(1)), joined;
    scores.push_back(k[rank - 2]);
    Type element = tensorType(mask).getElementType();
    // attention_c3
    if (!OpTrait::util::getBroadcastedShape(tensorType(mask).getShape(), scores,
                                            joined) ||
        joined != scores ||
        (!element.isInteger(1) && element != query.getElementType()))
      return emitOptionalError(loc, "mask ", mask.getType(),
                               " does not broadcast to the scores ",
                               toString(scores), " as bool or ",
                               query.getElementType(), " (attention_c3)");
  }
  SmallVector<int64_t> shape(q.drop_back(1));
  shape.push_back(v[rank - 1]);
  return infer(types, shape, query.getElementType());
}

LogicalResult RopeOp::inferReturnTypes(MLIRContext *, Loc loc, Adaptor adaptor,
                                       Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  RankedTensorType cos = tensorType(adaptor.getCos());
  // rope_c1
  if (type.getRank() == 0 || type.getShape().back() % 2 != 0)
    return emitOptionalError(loc, "last extent of ", toString(type.getShape()),
                             " is not even (rope_c1)");
  if (failed(checkSameElement(loc, "rope_c1", adaptor.getOperand(),
                              adaptor.getCos())))
    return failure();
  SmallVector<int64_t> pairs(type.getShape()), joined;
  pairs.back() /= 2;
  // rope_c2
  if (adaptor.getCos().getType() != adaptor.getSin().getType() ||
      !OpTrait::util::getBroadcastedShape(cos.getShape(), pairs, joined) ||
      joined != pairs || cos.getRank() == 0 ||
      cos.getShape().back() != pairs.back())
    return emitOptionalError(
        loc, "cos ", cos, " and sin ", adaptor.getSin().getType(),
        " do not broadcast to the pairs ", toString(pairs), " (rope_c2)");
  types.push_back(type);
  return success();
}

//===----------------------------------------------------------------------===//
// Indexing and state
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  RankedTensorType weight = tensorType(adaptor.getWeight());
  // embedding_c1
  if (weight.getRank() != 2)
    return emitOptionalError(loc, "table ", toString(weight.getShape()),
                             " is not of rank two (embedding_c1)");
  SmallVector<int64_t> shape(tensorType(adaptor.getIndices()).getShape());
  shape.push_back(weight.getDimSize(1));
  return infer(types, shape, weight.getElementType());
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, Loc loc,
                                         Adaptor adaptor, Types &types) {
  RankedTensorType source = tensorType(adaptor.getSource());
  int64_t axis = adaptor.getAxis();
  // gather_c1
  if (failed(checkAxis(loc, "gather_c1", axis, source)))
    return failure();
  SmallVector<int64_t> shape(source.getShape().take_front(axis));
  llvm::append_range(shape, tensorType(adaptor.getIndices()).getShape());
  llvm::append_range(shape, source.getShape().drop_front(axis + 1));
  return infer(types, shape, source.getElementType());
}

/// update_c2
static LogicalResult checkFits(Loc loc, RankedTensorType state,
                               RankedTensorType value) {
  bool fits =
      state.getRank() == value.getRank() &&
      state.getElementType() == value.getElementType() &&
      llvm::all_of_zip(state.getShape(), value.getShape(),
                       [](int64_t have, int64_t need) { return need <= have; });
  if (fits)
    return success();
  return emitOptionalError(loc, "value ", value, " does not fit into state ",
                           state, " (update_c2)");
}

LogicalResult UpdateOp::inferReturnTypes(MLIRContext *, Loc loc,
                                         Adaptor adaptor, Types &types) {
  types.push_back(adaptor.getState().getType());
  return checkFits(loc, tensorType(adaptor.getState()),
                   tensorType(adaptor.getValue()));
}

LogicalResult UpdateOp::verify() {
  auto isState = [](Value value) {
    if (value.getDefiningOp<UpdateOp>())
      return true;
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return false;
    auto program = dyn_cast<ProgramOp>(argument.getOwner()->getParentOp());
    // Inside a group or task the outer op carries the state.
    return !program || program.getArgumentKind(argument.getArgNumber()) ==
                           ArgumentKind::State;
  };
  // update_c1
  if (!isState(getState()))
    return emitOpError("writes to a tensor that is not a state (update_c1)");
  ArrayRef<int64_t> offsets = getStaticOffsets();
  size_t dynamic = llvm::count(offsets, ShapedType::kDynamic);
  RankedTensorType state = tensorType(getState());
  // Later checks index by dimension, so this one cannot wait for inference.
  if (failed(checkFits(getLoc(), state, tensorType(getValue()))))
    return failure();
  // update_c3
  if (offsets.size() != static_cast<size_t>(state.getRank()) ||
      dynamic != getOffsets().size())
    return emitOpError("has ")
           << offsets.size() << " static offsets and " << getOffsets().size()
           << " dynamic ones for rank " << state.getRank() << " (update_c3)";
  // update_c4
  for (auto [dim, offset] : llvm::enumerate(offsets))
    if (!ShapedType::isDynamic(offset) &&
        (offset < 0 || offset + tensorType(getValue()).getDimSize(dim) >
                           state.getDimSize(dim)))
      return emitOpError("slice at offset ")
             << offset << " leaves dimension " << dim << " of " << state
             << " (update_c4)";
  return success();
}
