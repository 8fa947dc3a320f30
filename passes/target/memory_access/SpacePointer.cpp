//===- SpacePointer.cpp - Pointers to one address space -------------------===//

#include "passes/target/memory_access/SpacePointer.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::ark;

Value ark::createSpacePointer(ImplicitLocOpBuilder &builder, Value buffer,
                              unsigned space) {
  MLIRContext *context = builder.getContext();
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, buffer);
  Value begin = memref::ExtractAlignedPointerAsIndexOp::create(builder, buffer);
  Value size = arith::ConstantIndexOp::create(
      builder,
      getElementBytes(cast<MemRefType>(buffer.getType()).getElementType()));
  Value offset = arith::MulIOp::create(builder, metadata.getOffset(), size);
  Value address = arith::AddIOp::create(builder, begin, offset);
  Value number =
      arith::IndexCastOp::create(builder, builder.getI64Type(), address);
  Value generic = LLVM::IntToPtrOp::create(
      builder, LLVM::LLVMPointerType::get(context), number);
  return LLVM::AddrSpaceCastOp::create(
      builder, LLVM::LLVMPointerType::get(context, space), generic);
}

Value ark::createOffset(ImplicitLocOpBuilder &builder, Value pointer,
                        Value bytes) {
  Value number =
      arith::IndexCastOp::create(builder, builder.getI64Type(), bytes);
  return LLVM::GEPOp::create(builder, pointer.getType(), builder.getI8Type(),
                             pointer, ArrayRef<LLVM::GEPArg>{number});
}
