//===- QuantizedProducts.cpp - Structured products of few bits ------------===//

#include "lib/support/QuantizedProducts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ark;

SmallVector<AffineMap> QuantizedProduct::getMaps(MLIRContext *context) const {
  AffineExpr m, n, k;
  bindDims(context, m, n, k);
  auto map = [&](AffineExpr first, AffineExpr second) {
    return AffineMap::get(3, 0, {first, second}, context);
  };
  AffineExpr groupOf =
      group == 0 ? getAffineConstantExpr(0, context) : k.floorDiv(group);
  SmallVector<AffineMap> maps = {
      map(m, k), map(n, hasFourBits ? k.floorDiv(2) : k), map(n, groupOf)};
  if (hasZeros)
    maps.push_back(map(n, groupOf));
  maps.push_back(map(m, n));
  return maps;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

namespace {
/// Matches a constant.
struct Constant {
  int64_t value;

  bool match(Value any) { return isConstantIntValue(any, value); }
};

/// Matches the index of the loop over k.
struct ReductionIndex {
  bool match(Value any) {
    auto index = any.getDefiningOp<linalg::IndexOp>();
    return index && index.getDim() == 2;
  }
};
} // namespace

/// Returns true if `number` is a weight of 4 bits, extracted from its byte. The
/// lower bits of a byte belong to the weight with the lower index.
static bool hasNumberOfFourBits(Value number, Value byte, Value zero) {
  auto isSecond = m_Op<arith::AndIOp>(
      m_Op<arith::IndexCastOp>(ReductionIndex()), Constant{1});
  auto bits = m_Op<arith::AndIOp>(
      m_Op<arith::ShRUIOp>(m_Op<arith::ExtUIOp>(matchers::m_Val(byte)),
                           m_Op<arith::ShLIOp>(isSecond, Constant{2})),
      Constant{15});
  if (!zero)
    return matchPattern(number, m_Op<arith::SIToFPOp>(m_Op<arith::SubIOp>(
                                    bits, Constant{kDefaultZero})));
  auto wideZero = m_Op<arith::AndIOp>(
      m_Op<arith::ExtUIOp>(matchers::m_Val(zero)), Constant{15});
  return matchPattern(
      number, m_Op<arith::SIToFPOp>(m_Op<arith::SubIOp>(bits, wideZero)));
}

/// Returns true if `number` is the dequantized weight, without its scale.
static bool hasNumber(linalg::GenericOp op, const QuantizedProduct &product,
                      Value number) {
  Block &block = *op.getBody();
  Value weight = block.getArgument(1);
  if (!product.hasFourBits)
    return !product.hasZeros && isa<Float8E4M3FNType>(weight.getType()) &&
           matchPattern(number, m_Op<arith::ExtFOp>(matchers::m_Val(weight)));
  Value zero = product.hasZeros ? Value(block.getArgument(3)) : Value();
  return weight.getType().isInteger(8) &&
         (!zero || zero.getType().isInteger(8)) &&
         hasNumberOfFourBits(number, weight, zero);
}

/// Returns the block argument from which `value` was extended, or null.
static BlockArgument getExtended(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  return dyn_cast<BlockArgument>(value);
}

/// Returns true if the op adds `x * (number * scale)` to its result.
static bool addsScaledProduct(linalg::GenericOp op,
                              const QuantizedProduct &quantized) {
  Block &block = *op.getBody();
  auto sum =
      block.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || sum.getLhs() != block.getArguments().back())
    return false;
  auto product = sum.getRhs().getDefiningOp<arith::MulFOp>();
  if (!product || getExtended(product.getLhs()) != block.getArgument(0))
    return false;
  auto weight = product.getRhs().getDefiningOp<arith::MulFOp>();
  return weight && getExtended(weight.getRhs()) == block.getArgument(2) &&
         hasNumber(op, quantized, weight.getLhs());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Returns the number of elements that share a scale if `map` selects the scale
/// of an element: 0 if the row has one scale.
static std::optional<int64_t> getGroup(AffineMap map) {
  if (map.getNumResults() != 2)
    return std::nullopt;
  if (map.getResult(1) == getAffineConstantExpr(0, map.getContext()))
    return 0;
  if (map.getResult(1) == getAffineDimExpr(2, map.getContext()))
    return 1;
  auto quotient = dyn_cast<AffineBinaryOpExpr>(map.getResult(1));
  if (!quotient || quotient.getKind() != AffineExprKind::FloorDiv)
    return std::nullopt;
  auto divisor = dyn_cast<AffineConstantExpr>(quotient.getRHS());
  return divisor ? std::optional(divisor.getValue()) : std::nullopt;
}

/// Returns true if the loops are m, n and, as the only reduction, k.
static bool hasLoopsOfProduct(linalg::GenericOp op) {
  return op.getNumLoops() == 3 && op.getNumReductionLoops() == 1 &&
         op.getIteratorTypesArray().back() == utils::IteratorType::reduction;
}

std::optional<QuantizedProduct> ark::matchQuantizedProduct(Operation *any) {
  auto op = dyn_cast<linalg::GenericOp>(any);
  if (!op || !hasLoopsOfProduct(op) || op.getNumDpsInits() != 1 ||
      op.getNumDpsInputs() < 3 || op.getNumDpsInputs() > 4)
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  std::optional<int64_t> group = getGroup(maps[2]);
  if (!group)
    return std::nullopt;
  QuantizedProduct product;
  product.group = *group;
  product.hasFourBits = op.getBody()->getArgument(1).getType().isInteger(8);
  product.hasZeros = op.getNumDpsInputs() == 4;
  if (maps != product.getMaps(op.getContext()) ||
      !addsScaledProduct(op, product))
    return std::nullopt;
  return product;
}
