//===- ArkAttentionOps.cpp - Attention and rotary positions ---------------===//
//
// Checks carry the constraint labels of ArkAnchorOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace mlir::ark;

/// A query of depth zero still attends to every key.
Attribute AttentionOp::getValueIfEmpty() {
  return isEmpty(getValue()) ? getZero(getType().getElementType())
                             : TypedAttr();
}

/// Returns a predicate if queries and keys of depth zero are compared.
static StringRef getReadOfDepthZero(Value query) {
  return tensorType(query).getShape().back() == 0
             ? "compares queries and keys of depth zero"
             : "";
}

StringRef AttentionOp::getEmptyRead() { return getReadOfDepthZero(getQuery()); }

Attribute AttentionLogSumExpOp::getValueIfEmpty() {
  return isEmpty(getKey()) ? getZero(getType().getElementType()) : TypedAttr();
}

StringRef AttentionLogSumExpOp::getEmptyRead() {
  return getReadOfDepthZero(getQuery());
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

/// Checks that `length` is a scalar, or has one element for each sequence.
static LogicalResult checkLength(Loc loc, StringRef label, Value length,
                                 RankedTensorType query) {
  ArrayRef<int64_t> shape = tensorType(length).getShape(),
                    sequences = query.getShape().drop_back(3);
  if (shape.empty() || shape == sequences)
    return success();
  return emitOptionalError(loc, "kv_length ", toString(shape),
                           " is neither a scalar nor a length for each of the "
                           "sequences ",
                           toString(sequences), " (", label, ")");
}

/// Returns the dimensions that count the sequences if each has its own length.
static SmallVector<int64_t> getSequenceDims(Value length) {
  int64_t rank = length ? tensorType(length).getRank() : 0;
  return llvm::to_vector(llvm::seq(rank));
}

SmallVector<int64_t> AttentionOp::getUnitDims(int64_t) {
  return getSequenceDims(getKvLength());
}

SmallVector<int64_t> AttentionLogSumExpOp::getUnitDims(int64_t) {
  return getSequenceDims(getKvLength());
}

SmallVector<int64_t> PartialAttentionOp::getUnitDims(int64_t rank) {
  SmallVector<int64_t> dims = getSequenceDims(getKvLength());
  dims.push_back(rank - 2);
  return dims;
}

/// Checks the operands of an attention without partitions. Labels of the
/// constraints begin with `name`.
template <typename Adaptor>
static LogicalResult checkAttention(Loc loc, const std::string &name,
                                    Adaptor adaptor) {
  RankedTensorType query = tensorType(adaptor.getQuery());
  RankedTensorType key = tensorType(adaptor.getKey());
  RankedTensorType value = tensorType(adaptor.getValue());
  int64_t rank = query.getRank();
  std::string first = name + "_c1";
  if (rank < 3 || key.getRank() != rank || value.getRank() != rank)
    return emitOptionalError(loc, "q, k and v need one rank, three or more (",
                             first, ")");
  if (failed(
          checkSameElement(loc, first, adaptor.getQuery(), adaptor.getKey())) ||
      failed(
          checkSameElement(loc, first, adaptor.getQuery(), adaptor.getValue())))
    return failure();
  ArrayRef<int64_t> q = query.getShape(), k = key.getShape(),
                    v = value.getShape();
  int64_t heads = q[rank - 3], kvHeads = k[rank - 3];
  bool fits = q.drop_back(3) == k.drop_back(3) &&
              k.drop_back(1) == v.drop_back(1) && q[rank - 1] == k[rank - 1] &&
              kvHeads > 0 && heads % kvHeads == 0;
  if (!fits)
    return emitOptionalError(loc, "q ", toString(q), ", k ", toString(k),
                             " and v ", toString(v), " do not fit together (",
                             name, "_c2)");
  if (Value mask = adaptor.getMask()) {
    SmallVector<int64_t> scores(q.drop_back(1));
    scores.push_back(k[rank - 2]);
    if (failed(checkMask(loc, name + "_c3", mask, scores, query)))
      return failure();
  }
  Value length = adaptor.getKvLength();
  return success(!length ||
                 succeeded(checkLength(loc, name + "_c4", length, query)));
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, Loc loc,
                                            Adaptor adaptor, Types &types) {
  // attention_c1, attention_c2, attention_c3, attention_c4
  if (failed(checkAttention(loc, "attention", adaptor)))
    return failure();
  RankedTensorType query = tensorType(adaptor.getQuery());
  SmallVector<int64_t> shape(query.getShape().drop_back());
  shape.push_back(tensorType(adaptor.getValue()).getShape().back());
  return infer(types, shape, query.getElementType());
}

/// Returns the type of the sums of an attention, f32 or wider.
static Type getWideType(RankedTensorType query) {
  Type element = query.getElementType();
  return element.getIntOrFloatBitWidth() < 32
             ? Float32Type::get(query.getContext())
             : element;
}

LogicalResult AttentionLogSumExpOp::inferReturnTypes(MLIRContext *, Loc loc,
                                                     Adaptor adaptor,
                                                     Types &types) {
  // attention_log_sum_exp_c1, attention_log_sum_exp_c2,
  // attention_log_sum_exp_c3, attention_log_sum_exp_c4
  if (failed(checkAttention(loc, "attention_log_sum_exp", adaptor)))
    return failure();
  RankedTensorType query = tensorType(adaptor.getQuery());
  SmallVector<int64_t> shape(query.getShape().drop_back());
  shape.push_back(1);
  return infer(types, shape, getWideType(query));
}

LogicalResult PartialAttentionOp::inferReturnTypes(MLIRContext *, Loc loc,
                                                   Adaptor adaptor,
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
  // partial_attention_c4
  if (Value length = adaptor.getKvLength();
      length && failed(checkLength(loc, "partial_attention_c4", length, query)))
    return failure();
  SmallVector<int64_t> shape(q.drop_back(1));
  shape.append({partitions, v.back() + 2});
  return infer(types, shape, getWideType(query));
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
