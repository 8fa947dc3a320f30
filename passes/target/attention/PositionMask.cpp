//===- PositionMask.cpp - Causal masks of scores --------------------------===//

#include "passes/target/attention/PositionMask.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ark;

/// Splits a sum into its terms.
static void addTerms(Value sum, bool isNegative,
                     SmallVectorImpl<PositionMask::Term> &terms) {
  Operation *op = sum.getDefiningOp();
  if (!isa_and_present<arith::AddIOp, arith::SubIOp>(op)) {
    terms.push_back({sum, isNegative});
    return;
  }
  addTerms(op->getOperand(0), isNegative, terms);
  addTerms(op->getOperand(1), isNegative != isa<arith::SubIOp>(op), terms);
}

/// Returns the terms of a sum other than one index of a region, or nothing if
/// the sum does not consist of one such index and values from outside.
static std::optional<SmallVector<PositionMask::Term>>
getOtherTerms(Value sum, function_ref<bool(BlockArgument)> isIndex,
              Region &region) {
  SmallVector<PositionMask::Term> terms, others;
  addTerms(sum, /*isNegative=*/false, terms);
  for (PositionMask::Term term : terms) {
    auto argument = dyn_cast<BlockArgument>(term.value);
    if (argument && argument.getOwner() == &region.front()) {
      if (!isIndex(argument) || term.isNegative)
        return std::nullopt;
      continue;
    }
    if (region.isAncestor(term.value.getParentRegion()) &&
        !matchPattern(term.value, m_Constant()))
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

std::optional<PositionMask> PositionMask::find(Value score, Value key,
                                               ValueRange rows) {
  PositionMask mask;
  mask.select = score.getDefiningOp<arith::SelectOp>();
  if (!mask.select || !isMinusInfinity(mask.select.getFalseValue()))
    return std::nullopt;
  auto admits = mask.select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!admits || admits.getPredicate() != arith::CmpIPredicate::sle)
    return std::nullopt;
  auto isKey = [&](BlockArgument index) { return index == key; };
  auto isRow = [&](BlockArgument index) {
    return llvm::is_contained(rows, index);
  };
  Region &region = *cast<BlockArgument>(key).getOwner()->getParent();
  auto besideKey = getOtherTerms(admits.getLhs(), isKey, region);
  auto besideRow = getOtherTerms(admits.getRhs(), isRow, region);
  if (!besideKey || !besideRow)
    return std::nullopt;
  mask.besideKey = *besideKey;
  mask.besideRow = *besideRow;
  return mask;
}

std::optional<PositionMask> PositionMask::find(OnlineAttentionOp op) {
  return find(op.getScore(), op.getIndices().back(),
              op.getIndices().drop_back());
}

/// Adds terms to a number.
static Value addAll(OpBuilder &builder, Location loc, Value number,
                    ArrayRef<PositionMask::Term> terms, bool isNegative) {
  for (auto [value, isOwnNegative] : terms) {
    IntegerAttr constant;
    Value term = value;
    if (matchPattern(value, m_Constant(&constant)))
      term = arith::ConstantIndexOp::create(builder, loc, constant.getInt());
    if (isNegative != isOwnNegative)
      number = arith::SubIOp::create(builder, loc, number, term);
    else
      number = arith::AddIOp::create(builder, loc, number, term);
  }
  return number;
}

Value PositionMask::createCommonKeys(OpBuilder &builder, Location loc) const {
  // Row 0 has the smallest limit. The key at this limit is admitted, too.
  Value keys = arith::ConstantIndexOp::create(builder, loc, 1);
  keys = addAll(builder, loc, keys, besideRow, /*isNegative=*/false);
  return addAll(builder, loc, keys, besideKey, /*isNegative=*/true);
}

Value PositionMask::createFirstCommonRow(OpBuilder &builder, Location loc,
                                         int64_t lastKey) const {
  Value row = arith::ConstantIndexOp::create(builder, loc, lastKey);
  row = addAll(builder, loc, row, besideKey, /*isNegative=*/false);
  return addAll(builder, loc, row, besideRow, /*isNegative=*/true);
}
