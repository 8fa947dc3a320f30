//===- MappedLoop.cpp - Loops with an iteration per thread ----------------===//

#include "passes/target/support/MappedLoop.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::ark;

Value ark::createTemporary(ImplicitLocOpBuilder &builder, MemRefType type,
                           int64_t alignment) {
  OpBuilder::InsertionGuard guard(builder);
  auto function = builder.getInsertionBlock()
                      ->getParentOp()
                      ->getParentOfType<func::FuncOp>();
  builder.setInsertionPointToStart(&function.getBody().front());
  return memref::AllocaOp::create(builder, type,
                                  builder.getI64IntegerAttr(alignment));
}

Value ark::createMappedLoop(ImplicitLocOpBuilder &builder, int64_t threads) {
  auto mapping = builder.getArrayAttr(gpu::GPUThreadMappingAttr::get(
      builder.getContext(), gpu::MappingId::LinearDim0));
  SmallVector<OpFoldResult> extents = {builder.getIndexAttr(threads)};
  auto loop = scf::ForallOp::create(builder, extents, /*outputs=*/ValueRange(),
                                    mapping);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  return loop.getInductionVars().front();
}
