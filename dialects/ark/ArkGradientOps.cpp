//===- ArkGradientOps.cpp - Gradients of attention ------------------------===//
//
// Checks carry the constraint labels of ArkGradientOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkInference.h"
#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// The operands that both gradients have.
struct Operands {
  template <typename AdaptorT>
  explicit Operands(AdaptorT adaptor)
      : query(adaptor.getQuery()), key(adaptor.getKey()),
        value(adaptor.getValue()), cotangent(adaptor.getCotangent()),
        logSumExp(adaptor.getLogSumExp()), mean(adaptor.getMean()),
        mask(adaptor.getMask()) {}

  LogicalResult check(Loc loc) const;

  Value query, key, value, cotangent, logSumExp, mean, mask;

private:
  LogicalResult checkTypes(Loc loc) const;
  LogicalResult checkExtents(Loc loc) const;
  LogicalResult checkStatistics(Loc loc) const;
  LogicalResult checkMask(Loc loc) const;
};
} // namespace

static ArrayRef<int64_t> getShape(Value value) {
  return tensorType(value).getShape();
}

/// attention_gradient_c1
LogicalResult Operands::checkTypes(Loc loc) const {
  size_t rank = getShape(query).size();
  if (rank < 4 || getShape(key).size() + 1 != rank ||
      getShape(value).size() + 1 != rank || getShape(cotangent).size() != rank)
    return emitOptionalError(
        loc, "q and the cotangent need one rank, four or more, and k and v one "
             "rank less (attention_gradient_c1)");
  for (Value other : {key, value, cotangent})
    if (failed(checkSameElement(loc, "attention_gradient_c1", query, other)))
      return failure();
  return success();
}

/// attention_gradient_c2
LogicalResult Operands::checkExtents(Loc loc) const {
  ArrayRef<int64_t> q = getShape(query), k = getShape(key), v = getShape(value),
                    g = getShape(cotangent);
  if (q.drop_back(3) == k.drop_back(2) && k.drop_back() == v.drop_back() &&
      q.back() == k.back() && q.drop_back() == g.drop_back() &&
      g.back() == v.back())
    return success();
  return emitOptionalError(loc, "q ", toString(q), ", k ", toString(k), ", v ",
                           toString(v), " and the cotangent ", toString(g),
                           " do not fit together (attention_gradient_c2)");
}

/// attention_gradient_c3
LogicalResult Operands::checkStatistics(Loc loc) const {
  for (Value statistic : {logSumExp, mean})
    if (getShape(statistic) != getShape(query).drop_back())
      return emitOptionalError(loc, "needs log_sum_exp and mean of shape ",
                               toString(getShape(query).drop_back()), ", not ",
                               toString(getShape(statistic)),
                               " (attention_gradient_c3)");
  return success();
}

/// attention_gradient_c4
LogicalResult Operands::checkMask(Loc loc) const {
  if (!mask)
    return success();
  SmallVector<int64_t> scores(getShape(query).drop_back()), joined;
  scores.push_back(getShape(key).drop_back().back());
  Type element = tensorType(mask).getElementType(),
       own = tensorType(query).getElementType();
  if (OpTrait::util::getBroadcastedShape(getShape(mask), scores, joined) &&
      joined == scores && (element.isInteger(1) || element == own))
    return success();
  return emitOptionalError(
      loc, "mask ", mask.getType(), " does not broadcast to the scores ",
      toString(scores), " as bool or ", own, " (attention_gradient_c4)");
}

LogicalResult Operands::check(Loc loc) const {
  return success(succeeded(checkTypes(loc)) && succeeded(checkExtents(loc)) &&
                 succeeded(checkStatistics(loc)) && succeeded(checkMask(loc)));
}

/// Returns the predicate of an error if vectors that are compared have no
/// elements.
static StringRef getEmptyReadOf(Value query, Value value) {
  return getShape(query).back() == 0 || getShape(value).back() == 0
             ? "compares vectors of depth zero"
             : "";
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

LogicalResult AttentionQueryGradientOp::inferReturnTypes(MLIRContext *, Loc loc,
                                                         Adaptor adaptor,
                                                         Types &types) {
  if (failed(Operands(adaptor).check(loc)))
    return failure();
  types.push_back(adaptor.getQuery().getType());
  return success();
}

/// Without keys, the sum is zero.
Attribute AttentionQueryGradientOp::getValueIfEmpty() {
  return isEmpty(getKey()) ? getZero(getType().getElementType()) : TypedAttr();
}

StringRef AttentionQueryGradientOp::getEmptyRead() {
  return getEmptyReadOf(getQuery(), getValue());
}

//===----------------------------------------------------------------------===//
// Keys and values
//===----------------------------------------------------------------------===//

LogicalResult AttentionKeyValueGradientOp::inferReturnTypes(MLIRContext *,
                                                            Loc loc,
                                                            Adaptor adaptor,
                                                            Types &types) {
  if (failed(Operands(adaptor).check(loc)))
    return failure();
  SmallVector<int64_t> shape(getShape(adaptor.getKey()));
  shape.back() += getShape(adaptor.getValue()).back();
  return infer(types, shape, tensorType(adaptor.getKey()).getElementType());
}

/// Without queries, the sum is zero.
Attribute AttentionKeyValueGradientOp::getValueIfEmpty() {
  return isEmpty(getQuery()) ? getZero(getType().getElementType())
                             : TypedAttr();
}

StringRef AttentionKeyValueGradientOp::getEmptyRead() {
  return getEmptyReadOf(getQuery(), getValue());
}
