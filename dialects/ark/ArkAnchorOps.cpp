//===- ArkAnchorOps.cpp - Reductions, products, attention, indexing -------===//
//
// Checks carry the constraint labels of ArkAnchorOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"
#include "mlir/Dialect/Traits.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace mlir::ark;

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

/// Returns the operand's shape without one dimension, which must not be empty.
static FailureOr<SmallVector<int64_t>>
dropDim(Loc loc, StringRef label, StringRef what, Value operand, int64_t axis) {
  RankedTensorType type = tensorType(operand);
  if (failed(checkAxis(loc, label, axis, type)))
    return failure();
  if (type.getDimSize(axis) == 0)
    return emitOptionalError(loc, what, " of an empty dimension (", label, ")");
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

static bool isEmpty(Value value) {
  return tensorType(value).getNumElements() == 0;
}

/// Returns the least or the largest value of an element type.
static TypedAttr getLimit(Type element, bool least) {
  if (auto type = dyn_cast<FloatType>(element))
    return FloatAttr::get(element,
                          APFloat::getInf(type.getFloatSemantics(), least));
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  APInt value = least ? (isUnsigned ? APInt::getMinValue(width)
                                    : APInt::getSignedMinValue(width))
                      : (isUnsigned ? APInt::getMaxValue(width)
                                    : APInt::getSignedMaxValue(width));
  return IntegerAttr::get(element, value);
}

static TypedAttr getZero(Type element) {
  return Builder(element.getContext()).getZeroAttr(element);
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

//===----------------------------------------------------------------------===//
// Linear algebra, attention, position
//===----------------------------------------------------------------------===//

Attribute MatmulOp::getValueIfEmpty() {
  return isEmpty(getLhs()) ? getZero(getType().getElementType()) : TypedAttr();
}

/// A query of depth zero still attends to every key.
Attribute AttentionOp::getValueIfEmpty() {
  return isEmpty(getValue()) ? getZero(getType().getElementType())
                             : TypedAttr();
}

StringRef AttentionOp::getEmptyRead() {
  return tensorType(getQuery()).getShape().back() == 0
             ? "compares queries and keys of depth zero"
             : "";
}

bool MatmulOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange actual) {
  if (inferred == actual)
    return true;
  if (inferred.size() != 1 || actual.size() != 1)
    return false;
  auto type = cast<RankedTensorType>(inferred.front());
  return isa<FloatType>(type.getElementType()) &&
         actual.front() == type.clone(Float32Type::get(type.getContext()));
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, Loc loc,
                                         Adaptor adaptor, Types &types) {
  RankedTensorType lhs = tensorType(adaptor.getLhs());
  RankedTensorType rhs = tensorType(adaptor.getRhs());
  // matmul_c1
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return emitOptionalError(loc, "needs operands of rank two or more, not ",
                             toString(lhs.getShape()), " and ",
                             toString(rhs.getShape()), " (matmul_c1)");
  bool isMixed = isNarrowFloat(lhs.getElementType())
                     ? isa<FloatType>(rhs.getElementType())
                     : isNarrowFloat(rhs.getElementType()) &&
                           isa<FloatType>(lhs.getElementType());
  if (!isMixed && failed(checkSameElement(loc, "matmul_c1", adaptor.getLhs(),
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
  // 8-bit floats are storage only: a result has the other operand's type, or
  // f32.
  Type element = lhs.getElementType();
  if (isNarrowFloat(element))
    element = rhs.getElementType();
  if (isNarrowFloat(element))
    element = Float32Type::get(element.getContext());
  return infer(types, shape, element);
}

/// Checks that a mask broadcasts to the scores and has elements of bool or of
/// the query's type.
static LogicalResult checkMask(Loc loc, StringRef label, Value mask,
                               ArrayRef<int64_t> scores,
                               RankedTensorType query) {
  SmallVector<int64_t> joined;
  Type element = tensorType(mask).getElementType();
  if (OpTrait::util::getBroadcastedShape(tensorType(mask).getShape(), scores,
                                         joined) &&
      joined == scores &&
      (element.isInteger(1) || element == query.getElementType()))
    return success();
  return emitOptionalError(loc, "mask ", mask.getType(),
                           " does not broadcast to the scores ",
                           toString(scores), " as bool or ",
                           query.getElementType(), " (", label, ")");
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
    SmallVector<int64_t> scores(q.drop_back(1));
    scores.push_back(k[rank - 2]);
    // attention_c3
    if (failed(checkMask(loc, "attention_c3", mask, scores, query)))
      return failure();
  }
  SmallVector<int64_t> shape(q.drop_back(1));
  shape.push_back(v[rank - 1]);
  return infer(types, shape, query.getElementType());
}

LogicalResult PartialAttentionOp::inferReturnTypes(MLIRContext *context,
                                                   Loc loc, Adaptor adaptor,
                                                   Types &types) {
  RankedTensorType query = tensorType(adaptor.getQuery());
  RankedTensorType key = tensorType(adaptor.getKey());
  RankedTensorType value = tensorType(adaptor.getValue());
  int64_t rank = query.getRank();
  // partial_attention_c1
  if (rank < 3 || key.getRank() != rank + 1 || value.getRank() != rank + 1)
    return emitOptionalError(loc, "k and v need one rank more than q, which "
                                  "has three or more (partial_attention_c1)");
  if (failed(checkSameElement(loc, "partial_attention_c1", adaptor.getQuery(),
                              adaptor.getKey())) ||
      failed(checkSameElement(loc, "partial_attention_c1", adaptor.getQuery(),
                              adaptor.getValue())))
    return failure();
  ArrayRef<int64_t> q = query.getShape(), k = key.getShape(),
                    v = value.getShape();
  int64_t heads = q[rank - 3], kvHeads = k[rank - 3], partitions = k[rank - 1];
  // partial_attention_c2
  bool fits = q.drop_back(3) == k.drop_back(4) &&
              k.drop_back(1) == v.drop_back(1) && q.back() == k.back() &&
              kvHeads > 0 && heads % kvHeads == 0 && partitions > 0;
  if (!fits)
    return emitOptionalError(loc, "q ", toString(q), ", k ", toString(k),
                             " and v ", toString(v),
                             " do not fit together (partial_attention_c2)");
  if (Value mask = adaptor.getMask()) {
    SmallVector<int64_t> scores(q.drop_back(1));
    scores.append({k[rank - 2], partitions});
    // partial_attention_c3
    if (failed(checkMask(loc, "partial_attention_c3", mask, scores, query)))
      return failure();
  }
  SmallVector<int64_t> shape(q.drop_back(1));
  shape.append({partitions, v.back() + 2});
  Type element = query.getElementType();
  if (element.getIntOrFloatBitWidth() < 32)
    element = Float32Type::get(context);
  return infer(types, shape, element);
}

LogicalResult CombineAttentionOp::inferReturnTypes(MLIRContext *, Loc loc,
                                                   Adaptor adaptor,
                                                   Types &types) {
  RankedTensorType type = tensorType(adaptor.getOperand());
  ArrayRef<int64_t> shape = type.getShape();
  // combine_attention_c1
  if (shape.size() < 2 || shape.back() < 2)
    return emitOptionalError(loc,
                             "needs rank two or more and a last extent of "
                             "two or more, not ",
                             toString(shape), " (combine_attention_c1)");
  SmallVector<int64_t> result(shape.drop_back(2));
  result.push_back(shape.back() - 2);
  return infer(types, result, type.getElementType());
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

Attribute SegmentSumOp::getValueIfEmpty() {
  return isEmpty(getOperand()) ? getZero(getType().getElementType())
                               : TypedAttr();
}

StringRef EmbeddingOp::getEmptyRead() {
  return tensorType(getWeight()).getDimSize(0) == 0
             ? "reads rows of a table without rows"
             : "";
}

StringRef GatherOp::getEmptyRead() {
  return tensorType(getSource()).getDimSize(getAxis()) == 0
             ? "reads elements of an empty dimension"
             : "";
}

SmallVector<int64_t> UpdateOp::getSerialDims() {
  SmallVector<int64_t> dims;
  for (auto [dim, offset] : llvm::enumerate(getStaticOffsets()))
    if (ShapedType::isDynamic(offset) &&
        tensorType(getValue()).getDimSize(dim) > 1)
      dims.push_back(dim);
  return dims;
}

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

LogicalResult SegmentSumOp::inferReturnTypes(MLIRContext *context, Loc loc,
                                             Adaptor adaptor, Types &types) {
  RankedTensorType operand = tensorType(adaptor.getOperand());
  RankedTensorType indices = tensorType(adaptor.getIndices());
  int64_t axis = adaptor.getAxis(), segments = adaptor.getSegments();
  // segment_sum_c1
  if (failed(checkAxis(loc, "segment_sum_c1", axis, operand)))
    return failure();
  if (indices.getRank() != 1 ||
      indices.getDimSize(0) != operand.getDimSize(axis))
    return emitOptionalError(
        loc, "indices of shape ", toString(indices.getShape()),
        " do not name a segment for each of ", operand.getDimSize(axis),
        " slices (segment_sum_c1)");
  // segment_sum_c2
  if (segments < 0)
    return emitOptionalError(loc, "there are ", segments,
                             " segments (segment_sum_c2)");
  SmallVector<int64_t> shape(operand.getShape());
  shape[axis] = segments;
  Type element = operand.getElementType();
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    element = Float32Type::get(context);
  return infer(types, shape, element);
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
    // Inside a group or task, the outer op carries the state.
    if (!program)
      return true;
    // The program's own verifier, which requires kinds, runs later.
    auto kind = program.getArgAttrOfType<ArgumentKindAttr>(
        argument.getArgNumber(), ArkDialect::kKindAttr);
    return kind && kind.getValue() == ArgumentKind::State;
  };
  // update_c1
  if (!isState(getState()))
    return emitOpError("writes to a tensor that is not a state (update_c1)");
  ArrayRef<int64_t> offsets = getStaticOffsets();
  size_t dynamic = llvm::count(offsets, ShapedType::kDynamic);
  RankedTensorType state = tensorType(getState());
  // Later checks index by dimension, so this check cannot wait for inference.
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
        (offset < 0 || offset > state.getDimSize(dim) -
                                    tensorType(getValue()).getDimSize(dim)))
      return emitOpError("slice at offset ")
             << offset << " leaves dimension " << dim << " of " << state
             << " (update_c4)";
  return success();
}
