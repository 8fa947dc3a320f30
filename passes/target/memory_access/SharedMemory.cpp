//===- SharedMemory.cpp - The shared memory of a launch -------------------===//

#include "passes/target/memory_access/SharedMemory.h"

#include "lib/support/BufferView.h"
#include "passes/target/memory_access/SpacePointer.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr llvm::StringLiteral kSharedMemory = "ark_shared_memory";
static constexpr llvm::StringLiteral kSharedBytesAttr = "shared_memory";
/// Alignment of the start of shared memory; no temporary needs more.
static constexpr int64_t kBeginAlignment = 1024;

int64_t ark::getSharedAlignment(memref::AllocaOp temporary) {
  return std::max<int64_t>(kSharedAlignment,
                           temporary.getAlignment().value_or(1));
}

int64_t ark::getSharedBytes(memref::AllocaOp temporary) {
  return llvm::alignTo(getBufferBytes(temporary.getType()),
                       getSharedAlignment(temporary));
}

int64_t ark::getTableRoom(int64_t memory) {
  constexpr int64_t kSmallShare = 16;
  return memory <= kMaxTableBytes ? memory / kSmallShare : kMaxTableBytes;
}

int64_t ark::getSharedRoom(func::FuncOp body, int64_t memory) {
  int64_t room = memory - getTableRoom(memory);
  body.walk(
      [&](memref::AllocaOp temporary) { room -= getSharedBytes(temporary); });
  return room;
}

LLVM::GlobalOp ark::getSharedMemory(ModuleOp module) {
  if (auto memory = SymbolTable(module).lookup<LLVM::GlobalOp>(kSharedMemory))
    return memory;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
  return LLVM::GlobalOp::create(builder, module.getLoc(), type,
                                /*isConstant=*/false, LLVM::Linkage::External,
                                kSharedMemory, Attribute(), kBeginAlignment,
                                kSharedSpace);
}

Value ark::getSharedPointer(OpBuilder &builder, Location loc,
                            LLVM::GlobalOp memory, int64_t offset) {
  Value base = LLVM::AddressOfOp::create(builder, loc, memory);
  Value address = LLVM::GEPOp::create(
      builder, loc, base.getType(), builder.getI8Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AddrSpaceCastOp::create(builder, loc, pointer, address);
}

int64_t ark::getSharedBytes(KernelOp kernel) {
  auto bytes = kernel->getAttrOfType<IntegerAttr>(kSharedBytesAttr);
  return bytes ? bytes.getInt() : 0;
}

void ark::setSharedBytes(KernelOp kernel, int64_t bytes) {
  Builder builder(kernel.getContext());
  kernel->setAttr(kSharedBytesAttr, builder.getI64IntegerAttr(bytes));
}

void ark::setSharedMemorySize(ModuleOp module, KernelOp kernel) {
  LLVM::GlobalOp memory = getSharedMemory(module);
  Builder builder(module.getContext());
  memory.setGlobalType(LLVM::LLVMArrayType::get(
      builder.getI8Type(), std::max<int64_t>(getSharedBytes(kernel), 1)));
  memory.setLinkage(LLVM::Linkage::Internal);
}
