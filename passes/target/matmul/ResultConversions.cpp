//===- ResultConversions.cpp - Conversions of a product's result ----------===//

#include "passes/target/matmul/ResultConversions.h"

#include "passes/target/matmul/ProductLifetime.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::ark;
using linalg::GenericOp;

/// Returns true if an op computes each element of its only output from the
/// elements of its inputs at the same position.
static bool isElementwise(GenericOp op) {
  return op.hasPureBufferSemantics() && op.getNumDpsInits() == 1 &&
         op.getNumReductionLoops() == 0 &&
         op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty() &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

static bool isMovable(GenericOp op) {
  return llvm::all_of(
      op.getBlock()->without_terminator(), [](Operation &inner) {
        return isMemoryEffectFree(&inner) && !isa<linalg::IndexOp>(inner);
      });
}

std::optional<ResultConversion> ResultConversion::match(Operation *user) {
  auto conversion = dyn_cast<GenericOp>(user);
  if (!conversion || !isElementwise(conversion) || !isMovable(conversion) ||
      conversion.getNumDpsInputs() != 1)
    return std::nullopt;
  Value converted = conversion.getDpsInits()[0];
  memref::AllocaOp temporary = getTemporary(converted);
  if (!temporary || llvm::range_size(converted.getUses()) != 2)
    return std::nullopt;
  for (OpOperand &use : converted.getUses()) {
    auto reader = dyn_cast<GenericOp>(use.getOwner());
    if (reader == conversion)
      continue;
    if (reader && reader->getBlock() == conversion->getBlock() &&
        conversion->isBeforeInBlock(reader) && reader.isDpsInput(&use) &&
        isElementwise(reader))
      return ResultConversion{conversion, reader, temporary};
  }
  return std::nullopt;
}

void ResultConversion::inlineIntoReader() {
  Value converted = conversion.getDpsInits()[0];
  OpOperand *operand =
      llvm::find_if(reader->getOpOperands(), [&](OpOperand &candidate) {
        return candidate.get() == converted;
      });
  BlockArgument argument = reader.getMatchingBlockArgument(operand);
  Value result = conversion.getDpsInputs()[0];
  Block &block = *reader.getBlock();
  BlockArgument element = block.insertArgument(
      argument.getArgNumber(), getElementTypeOrSelf(result), argument.getLoc());
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  IRMapping mapping;
  mapping.map(conversion.getBlock()->getArgument(0), element);
  for (Operation &inner : conversion.getBlock()->without_terminator())
    builder.clone(inner, mapping);
  Operation *yield = conversion.getBlock()->getTerminator();
  argument.replaceAllUsesWith(mapping.lookupOrDefault(yield->getOperand(0)));
  block.eraseArgument(argument.getArgNumber());
  operand->set(result);
  conversion.erase();
  if (converted != temporary)
    converted.getDefiningOp()->erase();
  temporary.erase();
}
