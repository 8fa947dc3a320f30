//===- ArkBodyOpChecks.cpp - Functions of all ops of bodies ---------------===//

#include "dialects/ark/ArkBodyOpChecks.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

LogicalResult ark::verifyLoopExtents(BodyOpInterface op, StringRef label) {
  llvm::SmallDenseMap<unsigned, int64_t> extents;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = cast<ShapedType>(operand.get().getType());
    for (auto [expr, extent] :
         llvm::zip(op.getMap(operand).getResults(), type.getShape())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || ShapedType::isDynamic(extent))
        continue;
      auto [known, isNew] = extents.try_emplace(dim.getPosition(), extent);
      if (known->second != extent)
        return op->emitOpError("has the extents ")
               << known->second << " and " << extent << " for loop "
               << dim.getPosition() << " (" << label << ")";
    }
  }
  return success();
}

LogicalResult ark::verifyTensorsOrBuffers(BodyOpInterface op, StringRef label) {
  bool isOnBuffers = op.hasPureBufferSemantics() && op->getNumResults() == 0;
  bool isOnTensors =
      op.hasPureTensorSemantics() &&
      op->getResultTypes() == TypeRange(ValueRange(op.getDpsInits()));
  if (isOnBuffers || isOnTensors)
    return success();
  return op->emitOpError("needs tensors and a result for each out, or buffers "
                         "and no results (")
         << label << ")";
}

LogicalResult ark::verifyScoreRegion(Operation *op, Block *block,
                                     ArrayRef<Type> arguments, Type element,
                                     StringRef opName, StringRef label) {
  if (block->getArgumentTypes() != TypeRange(arguments))
    return op->emitOpError("needs a region with arguments of the types ")
           << arguments << " (" << label << ")";
  auto yield = dyn_cast<YieldOp>(block->getTerminator());
  if (!yield || yield->getNumOperands() != 1 ||
      yield->getOperand(0).getType() != element)
    return op->emitOpError("needs a region that yields ")
           << element << " (" << label << ")";
  for (Operation &nested : block->without_terminator())
    if (!isMemoryEffectFree(&nested))
      return nested.emitOpError("accesses memory in ")
             << opName << " (" << label << ")";
  return success();
}

void ark::addBodyOpEffects(
    BodyOpInterface op,
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    if (op.isDpsInit(&operand))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

//===----------------------------------------------------------------------===//
// Numbers of operations
//===----------------------------------------------------------------------===//

/// Returns `number` as a signed number.
static int64_t limit(uint64_t number) {
  return std::min<uint64_t>(number, std::numeric_limits<int64_t>::max());
}

int64_t ark::addFlops(int64_t left, int64_t right) {
  return limit(llvm::SaturatingAdd<uint64_t>(left, right));
}

int64_t ark::multiplyFlops(int64_t left, int64_t right) {
  return limit(llvm::SaturatingMultiply<uint64_t>(left, right));
}

int64_t ark::multiplyExtents(ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents)
    count = multiplyFlops(count, extent);
  return count;
}
