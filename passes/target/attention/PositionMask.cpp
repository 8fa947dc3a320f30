//===- PositionMask.cpp - Causal masks of scores --------------------------===//

#include "passes/target/attention/PositionMask.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ark;

/// Splits a sum into its terms.
static void addTerms(Value sum, SmallVectorImpl<Value> &terms) {
  auto add = sum.getDefiningOp<arith::AddIOp>();
  if (!add) {
    terms.push_back(sum);
    return;
  }
  addTerms(add.getLhs(), terms);
  addTerms(add.getRhs(), terms);
}

/// Returns the terms of a sum other than one index of a region, or nothing if
/// the sum does not consist of one such index and values from outside.
static std::optional<SmallVector<Value>>
getOtherTerms(Value sum, function_ref<bool(BlockArgument)> isIndex,
              Region &region) {
  SmallVector<Value> terms, others;
  addTerms(sum, terms);
  for (Value term : terms) {
    auto argument = dyn_cast<BlockArgument>(term);
    if (argument && argument.getOwner() == &region.front()) {
      if (!isIndex(argument))
        return std::nullopt;
      continue;
    }
    if (region.isAncestor(term.getParentRegion()) &&
        !matchPattern(term, m_Constant()))
      return std::nullopt;
    others.push_back(term);
  }
  if (others.size() + 1 != terms.size())
    return std::nullopt;
  return others;
}

static bool isMinusInfinity(Value number) {
  FloatAttr constant;
  return matchPattern(number, m_Constant(&constant)) &&
         constant.getValue().isInfinity() && constant.getValue().isNegative();
}

std::optional<PositionMask> PositionMask::find(OnlineAttentionOp op) {
  PositionMask mask;
  mask.select = op.getScore().getDefiningOp<arith::SelectOp>();
  if (!mask.select || !isMinusInfinity(mask.select.getFalseValue()))
    return std::nullopt;
  auto admits = mask.select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!admits || admits.getPredicate() != arith::CmpIPredicate::sle)
    return std::nullopt;
  Value key = op.getIndices().back();
  auto isKey = [&](BlockArgument index) { return index == key; };
  auto isRow = [&](BlockArgument index) {
    return index != key && llvm::is_contained(op.getIndices(), index);
  };
  auto besideKey = getOtherTerms(admits.getLhs(), isKey, op.getRegion());
  auto besideRow = getOtherTerms(admits.getRhs(), isRow, op.getRegion());
  if (!besideKey || !besideRow)
    return std::nullopt;
  mask.besideKey = *besideKey;
  mask.besideRow = *besideRow;
  return mask;
}

Value PositionMask::createCommonKeys(OpBuilder &builder, Location loc) const {
  // Row 0 has the smallest limit, which is itself a key that is admitted.
  Value keys = arith::ConstantIndexOp::create(builder, loc, 1);
  auto outside = [&](Value term) {
    IntegerAttr constant;
    return matchPattern(term, m_Constant(&constant))
               ? arith::ConstantIndexOp::create(builder, loc, constant.getInt())
                     .getResult()
               : term;
  };
  for (Value term : besideRow)
    keys = arith::AddIOp::create(builder, loc, keys, outside(term));
  for (Value term : besideKey)
    keys = arith::SubIOp::create(builder, loc, keys, outside(term));
  return keys;
}
