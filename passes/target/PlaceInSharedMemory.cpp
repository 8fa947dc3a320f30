//===- PlaceInSharedMemory.cpp - Temporaries that a CTA shares ------------===//

#include "passes/target/Bodies.h"
#include "passes/target/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PLACEINSHAREDMEMORYPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// What a launch gives every CTA, as NVVM and ROCDL know it: an array of
/// unknown size in the address space of shared memory.
static constexpr llvm::StringLiteral kSharedMemory = "ark_shared_memory";
static constexpr unsigned kSharedAddressSpace = 3;
static constexpr int64_t kAlignment = 128;

static LLVM::GlobalOp createSharedMemory(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  return LLVM::GlobalOp::create(builder, module.getLoc(), type,
                                /*isConstant=*/false, LLVM::Linkage::External,
                                kSharedMemory, Attribute(), kAlignment,
                                kSharedAddressSpace);
}

/// A memref on shared memory at `offset`. Its descriptor disappears again when
/// memrefs become pointers.
static Value createBuffer(OpBuilder &builder, Location loc,
                          LLVM::GlobalOp memory, int64_t offset,
                          MemRefType type) {
  LLVMTypeConverter converter(builder.getContext());
  Value base = LLVM::AddressOfOp::create(builder, loc, memory);
  Value place = LLVM::GEPOp::create(
      builder, loc, base.getType(), builder.getI8Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value address = LLVM::AddrSpaceCastOp::create(builder, loc, pointer, place);
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
    LLVM::GlobalOp memory;
    for (func::FuncOp body : getBodies(getOperation())) {
      SmallVector<memref::AllocaOp> temporaries;
      body.walk([&](memref::AllocaOp op) { temporaries.push_back(op); });
      if (!temporaries.empty() && !memory)
        memory = createSharedMemory(getOperation());
      if (failed(place(temporaries, memory)))
        return signalPassFailure();
    }
  }

private:
  LogicalResult place(ArrayRef<memref::AllocaOp> temporaries,
                      LLVM::GlobalOp memory);
};
} // namespace

/// Bodies run one after the other, so that each has all of the memory.
LogicalResult
PlaceInSharedMemoryPass::place(ArrayRef<memref::AllocaOp> temporaries,
                               LLVM::GlobalOp memory) {
  int64_t offset = 0;
  for (memref::AllocaOp temporary : temporaries) {
    if (!temporary.getType().hasStaticShape() ||
        !isa<func::FuncOp>(temporary->getParentOp()))
      return temporary.emitOpError("is not a temporary of static size at the "
                                   "head of a body");
    OpBuilder builder(temporary);
    temporary.replaceAllUsesWith(createBuffer(
        builder, temporary.getLoc(), memory, offset, temporary.getType()));
    offset =
        llvm::alignTo(offset + getBufferBytes(temporary.getType()), kAlignment);
    temporary.erase();
  }
  auto target =
      getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  if (target && offset > target.getSharedMemory())
    return emitError(memory.getLoc())
           << "a body has " << offset << " bytes of temporaries; an SM has "
           << target.getSharedMemory();
  return success();
}
