//===- NextTile.cpp - Operands of a product in the next vCTA --------------===//

#include "passes/target/warpgroups/NextTile.h"

#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns true if a value of a vCTA follows from the index of the vCTA and
/// from values outside of the loop alone.
bool NextTile::dependsOnIndexOnly(Value value) {
  if (value == vctas.getInductionVar() || vctas.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return dependsOnIndexOnly(operand);
         });
}

/// Returns true if a vCTA writes an operand of a product. The operand of the
/// next vCTA is then not complete before that vCTA begins.
static bool writesOperand(scf::ForOp vctas, ArrayRef<MatmulTile> products) {
  auto isOperand = [&](const Access &access) {
    return llvm::any_of(products, [&](const MatmulTile &product) {
      return conflict({product.left, /*writes=*/false}, access) ||
             conflict({product.right, /*writes=*/false}, access);
    });
  };
  return llvm::any_of(*vctas.getBody(), [&](Operation &op) {
    return llvm::any_of(getAccesses(&op), isOperand);
  });
}

std::optional<NextTile> NextTile::match(func::FuncOp body,
                                        ArrayRef<MatmulTile> products) {
  auto most = body->getAttrOfType<IntegerAttr>(kWorkItemVctasAttr);
  scf::ForOp vctas = getVctaLoop(body);
  if (!vctas || (most && most.getInt() <= 1))
    return std::nullopt;
  NextTile next(vctas);
  bool areComputed = llvm::all_of(products, [&](const MatmulTile &product) {
    return next.dependsOnIndexOnly(product.left) &&
           next.dependsOnIndexOnly(product.right);
  });
  return areComputed && !writesOperand(vctas, products) ? std::optional(next)
                                                        : std::nullopt;
}

Value NextTile::isFirst(ImplicitLocOpBuilder &builder) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                               vctas.getInductionVar(), vctas.getLowerBound());
}

Value NextTile::getNextVcta(ImplicitLocOpBuilder &builder) {
  return arith::AddIOp::create(builder, vctas.getInductionVar(),
                               vctas.getStep());
}

Value NextTile::exists(ImplicitLocOpBuilder &builder) {
  return arith::CmpIOp::create(builder, arith::CmpIPredicate::ult,
                               getNextVcta(builder), vctas.getUpperBound());
}

/// Returns the value that corresponds to `value` in the next vCTA. Copies the
/// ops that compute it. `mapping` has the values so far.
Value NextTile::getNext(ImplicitLocOpBuilder &builder, Value value,
                        IRMapping &mapping) {
  if (mapping.contains(value) || vctas.isDefinedOutsideOfLoop(value))
    return mapping.lookupOrDefault(value);
  for (Value operand : value.getDefiningOp()->getOperands())
    getNext(builder, operand, mapping);
  builder.clone(*value.getDefiningOp(), mapping);
  return mapping.lookup(value);
}

SmallVector<Value> NextTile::getTiles(ImplicitLocOpBuilder &builder,
                                      ValueRange tiles) {
  IRMapping mapping;
  mapping.map(vctas.getInductionVar(), getNextVcta(builder));
  return llvm::map_to_vector(
      tiles, [&](Value tile) { return getNext(builder, tile, mapping); });
}
