//===- QuantizedProducts.cpp - Structured products of few bits ------------===//

#include "lib/support/QuantizedProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the block argument from which `value` was extended, or null.
static BlockArgument getExtended(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  return dyn_cast<BlockArgument>(value);
}

/// Returns true if the op adds `x * (number * scale)` to its result, where only
/// the number depends on the weight.
static bool addsScaledProduct(linalg::GenericOp op) {
  Block &block = *op.getBody();
  auto sum =
      block.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || sum.getLhs() != block.getArguments().back())
    return false;
  auto product = sum.getRhs().getDefiningOp<arith::MulFOp>();
  if (!product || getExtended(product.getLhs()) != block.getArgument(0))
    return false;
  auto weight = product.getRhs().getDefiningOp<arith::MulFOp>();
  return weight && getExtended(weight.getRhs()) == block.getArgument(2);
}

/// Returns the number of elements that share a scale if `map` selects the scale
/// of an element: 0 if the row has one scale.
static std::optional<int64_t> getGroup(AffineMap map) {
  MLIRContext *context = map.getContext();
  if (map.getNumResults() != 2 ||
      map.getResult(0) != getAffineDimExpr(1, context))
    return std::nullopt;
  if (map.getResult(1) == getAffineConstantExpr(0, context))
    return 0;
  auto quotient = dyn_cast<AffineBinaryOpExpr>(map.getResult(1));
  if (!quotient || quotient.getKind() != AffineExprKind::FloorDiv ||
      quotient.getLHS() != getAffineDimExpr(2, context))
    return std::nullopt;
  auto divisor = dyn_cast<AffineConstantExpr>(quotient.getRHS());
  return divisor ? std::optional(divisor.getValue()) : std::nullopt;
}

std::optional<QuantizedProduct> ark::matchQuantizedProduct(Operation *any) {
  auto op = dyn_cast<linalg::GenericOp>(any);
  if (!op || op.getNumLoops() != 3 || op.getNumDpsInits() != 1 ||
      op.getNumDpsInputs() < 3 || op.getNumDpsInputs() > 4)
    return std::nullopt;
  MLIRContext *context = op.getContext();
  AffineExpr m, n, k;
  bindDims(context, m, n, k);
  auto map = [&](AffineExpr first, AffineExpr second) {
    return AffineMap::get(3, 0, {first, second}, context);
  };
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  QuantizedProduct product;
  product.hasFourBits = maps[1] == map(n, k.floorDiv(2));
  product.hasZeros = op.getNumDpsInputs() == 4;
  std::optional<int64_t> group = getGroup(maps[2]);
  if (maps[0] != map(m, k) || (!product.hasFourBits && maps[1] != map(n, k)) ||
      !group || (product.hasZeros && maps[3] != maps[2]) ||
      maps.back() != map(m, n) || !addsScaledProduct(op))
    return std::nullopt;
  product.group = *group;
  return product;
}
