//===- PlaceInSharedMemory.cpp - Places temporaries in shared memory ------===//

#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/support/Bodies.h"

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PLACEINSHAREDMEMORYPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Creates a memref on shared memory at `offset`. The descriptor disappears
/// when memrefs become pointers.
static Value createBuffer(OpBuilder &builder, Location loc,
                          LLVM::GlobalOp memory, int64_t offset,
                          MemRefType type) {
  LLVMTypeConverter converter(builder.getContext());
  Value address = getSharedPointer(builder, loc, memory, offset);
  Value descriptor =
      MemRefDescriptor::fromStaticShape(builder, loc, converter, type, address);
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

namespace {
struct PlaceInSharedMemoryPass
    : ark::impl::PlaceInSharedMemoryPassBase<PlaceInSharedMemoryPass> {
  using PlaceInSharedMemoryPassBase::PlaceInSharedMemoryPassBase;

  void runOnOperation() override {
    // Memory that other passes have allocated keeps its offset.
    for (auto kernel : getOperation().getOps<KernelOp>())
      begin = largestEnd = std::max<int64_t>(
          largestEnd, llvm::alignTo(getSharedBytes(kernel), kSharedAlignment));
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<memref::AllocaOp> temporaries;
      body.walk([&](memref::AllocaOp op) { temporaries.push_back(op); });
      if (!temporaries.empty() && failed(allocate(temporaries)))
        return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<KernelOp>())
      setSharedBytes(kernel, largestEnd);
    begin = largestEnd = 0;
  }

private:
  LogicalResult allocate(ArrayRef<memref::AllocaOp> temporaries);

  /// The start of temporaries, and the largest end of temporaries so far.
  int64_t begin = 0, largestEnd = 0;
};
} // namespace

/// Places the temporaries of a body. Bodies run one after the other, so all
/// bodies use the same memory.
LogicalResult
PlaceInSharedMemoryPass::allocate(ArrayRef<memref::AllocaOp> temporaries) {
  LLVM::GlobalOp memory = getSharedMemory(getOperation());
  int64_t offset = begin;
  for (memref::AllocaOp temporary : temporaries) {
    if (!temporary.getType().hasStaticShape() ||
        !isa<func::FuncOp>(temporary->getParentOp()))
      return temporary.emitOpError("is not a temporary of static size at the "
                                   "head of a body");
    OpBuilder builder(temporary);
    offset = llvm::alignTo(offset, getSharedAlignment(temporary));
    temporary.replaceAllUsesWith(createBuffer(
        builder, temporary.getLoc(), memory, offset, temporary.getType()));
    offset = llvm::alignTo(offset + getBufferBytes(temporary.getType()),
                           kSharedAlignment);
    temporary.erase();
  }
  auto target =
      getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  if (target && offset > target.getSharedMemory())
    return emitError(memory.getLoc())
           << "a body has " << offset << " bytes of temporaries; an SM has "
           << target.getSharedMemory();
  largestEnd = std::max(largestEnd, offset);
  return success();
}
