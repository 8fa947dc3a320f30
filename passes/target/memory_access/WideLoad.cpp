//===- WideLoad.cpp - Vector loads of neighbours --------------------------===//

#include "passes/target/memory_access/WideLoad.h"

#include "passes/target/support/Alignment.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::ark;

int64_t ark::getBytes(memref::LoadOp load) {
  return getElementBytes(load.getMemRefType().getElementType());
}

bool ark::loadsNeighbours(memref::LoadOp load, Value variable,
                          function_ref<bool(Value)> isFixed) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return !load.getIndices().empty() && load.getIndices().back() == variable &&
         llvm::all_of(load.getIndices().drop_back(), isFixed) &&
         isFixed(load.getMemRef()) &&
         succeeded(
             getStridesAndOffset(load.getMemRefType(), strides, offset)) &&
         strides.back() == 1;
}

/// Returns the alignment that a load of `count` elements needs.
static int64_t getWidth(memref::LoadOp load, int64_t count) {
  return std::min(kLoadBytes, count * getBytes(load));
}

bool ark::isAlignedFor(memref::LoadOp load, int64_t count) {
  return getAlignment(load.getMemRef(), load.getIndices(), count) >=
         getWidth(load, count);
}

Value ark::createWideLoad(OpBuilder &builder, memref::LoadOp load, Value buffer,
                          ValueRange indices, int64_t count) {
  auto type = VectorType::get({count}, load.getMemRefType().getElementType());
  return vector::LoadOp::create(builder, load.getLoc(), type, buffer, indices,
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(getWidth(load, count)));
}
