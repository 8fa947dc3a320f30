//===- BitcastNarrowFloats.cpp - Moves narrow floats as integers ----------===//

#include "passes/target/cpu/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BITCASTNARROWFLOATSPASS
#include "passes/target/cpu/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the integer type with the width of a 16-bit float type, or null for
/// other types.
static Type getBits(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isBF16() && !element.isF16())
    return {};
  Type integer = IntegerType::get(type.getContext(), 16);
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(integer);
  return integer;
}

/// Changes the type of all float operands and results to integers: the loaded
/// or stored value, and the pass-through value of a masked load.
static void bitcastFloats(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  for (OpOperand &operand : op->getOpOperands())
    if (Type bits = getBits(operand.get().getType()))
      operand.set(LLVM::BitcastOp::create(builder, loc, bits, operand.get()));
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    Type type = result.getType();
    if (!getBits(type))
      continue;
    result.setType(getBits(type));
    auto cast = LLVM::BitcastOp::create(builder, loc, type, result);
    result.replaceAllUsesExcept(cast, cast);
  }
}

static bool movesFloats(Operation *op) {
  auto isFloat = [](Type type) { return static_cast<bool>(getBits(type)); };
  return isa<LLVM::LoadOp, LLVM::StoreOp, LLVM::MaskedLoadOp,
             LLVM::MaskedStoreOp>(op) &&
         (llvm::any_of(op->getOperandTypes(), isFloat) ||
          llvm::any_of(op->getResultTypes(), isFloat));
}

namespace {
struct BitcastNarrowFloatsPass
    : ark::impl::BitcastNarrowFloatsPassBase<BitcastNarrowFloatsPass> {
  using BitcastNarrowFloatsPassBase::BitcastNarrowFloatsPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> moves;
    getOperation().walk([&](Operation *op) {
      if (movesFloats(op))
        moves.push_back(op);
    });
    llvm::for_each(moves, bitcastFloats);
    numMoved += moves.size();
  }
};
} // namespace
