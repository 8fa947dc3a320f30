//===- SafeDivisor.cpp - Divisions that cannot trap -----------------------===//

#include "passes/memory/verify/SafeDivisor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ark;

/// Adds the constants that a value is compared with, if the condition is a
/// disjunction of `value == constant`.
static void collectEqual(Value condition, Value value,
                         SmallVectorImpl<APInt> &constants) {
  if (auto either = condition.getDefiningOp<arith::OrIOp>()) {
    collectEqual(either.getLhs(), value, constants);
    collectEqual(either.getRhs(), value, constants);
    return;
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  APInt constant;
  if (compare && compare.getPredicate() == arith::CmpIPredicate::eq &&
      compare.getLhs() == value &&
      matchPattern(compare.getRhs(), m_ConstantInt(&constant)))
    constants.push_back(constant);
}

bool ark::isSafeDivisor(Value divisor, bool isSigned) {
  auto isSafe = [&](const APInt &number) {
    return !number.isZero() && !(isSigned && number.isAllOnes());
  };
  APInt number;
  if (matchPattern(divisor, m_ConstantInt(&number)))
    return isSafe(number);
  Operation *op = divisor.getDefiningOp();
  // A maximum of unsigned numbers may be -1 as a signed number.
  if (isa_and_nonnull<arith::MaxSIOp>(op) ||
      (!isSigned && isa_and_nonnull<arith::MaxUIOp>(op)))
    return llvm::any_of(op->getOperands(), [](Value bound) {
      APInt least;
      return matchPattern(bound, m_ConstantInt(&least)) &&
             least.isStrictlyPositive();
    });
  auto select = dyn_cast_or_null<arith::SelectOp>(op);
  if (!select || !matchPattern(select.getTrueValue(), m_ConstantInt(&number)) ||
      !isSafe(number))
    return false;
  SmallVector<APInt> replaced;
  collectEqual(select.getCondition(), select.getFalseValue(), replaced);
  auto isReplaced = [&](bool (APInt::*property)() const) {
    return llvm::any_of(replaced, [&](const APInt &constant) {
      return (constant.*property)();
    });
  };
  return isReplaced(&APInt::isZero) &&
         (!isSigned || isReplaced(&APInt::isAllOnes));
}
