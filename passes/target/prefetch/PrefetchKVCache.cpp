//===- PrefetchKVCache.cpp - L2 prefetch of keys and values ---------------===//

#include "passes/target/prefetch/KVCacheRows.h"
#include "passes/target/prefetch/Passes.h"
#include "passes/target/prefetch/PrefetchLine.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PREFETCHKVCACHEPASS
#include "passes/target/prefetch/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the lines of one operand that a thread prefetches.
static constexpr int64_t kMaxLines = 2;

/// Returns the rows that structured ops and attentions after `receive` read, in
/// program order.
static SmallVector<Value> findRows(ReceivePacketsOp receive) {
  llvm::SmallSetVector<Value, 4> rows;
  for (Operation *op = receive->getNextNode(); op; op = op->getNextNode())
    if (auto structured = dyn_cast<DestinationStyleOpInterface>(op))
      for (Value input : structured.getDpsInputs())
        if (isRuntimeSized(input))
          rows.insert(input);
  return rows.takeVector();
}

/// Prefetches lines of rows. Neighbouring threads prefetch neighbouring lines.
static void prefetchRows(ImplicitLocOpBuilder &builder, Value rows,
                         Value thread, int64_t threads) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, value);
  };
  auto type = cast<MemRefType>(rows.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t lines = llvm::divideCeil(type.getDimSize(1) * bytes, kLineBytes);
  int64_t stride = type.getStridesAndOffset().first[0];
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, rows);
  Value begin = arith::AddIOp::create(
      builder,
      memref::ExtractAlignedPointerAsIndexOp::create(builder,
                                                     metadata.getBaseBuffer()),
      arith::MulIOp::create(builder, metadata.getOffset(), index(bytes)));
  Value all =
      arith::MulIOp::create(builder, metadata.getSizes()[0], index(lines));
  for (int64_t i = 0; i < kMaxLines; ++i) {
    Value own = arith::AddIOp::create(builder, thread, index(i * threads));
    Value isThere =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, own, all);
    auto branch = scf::IfOp::create(builder, isThere, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    Value row = arith::DivUIOp::create(builder, own, index(lines));
    Value line = arith::RemUIOp::create(builder, own, index(lines));
    Value address = arith::AddIOp::create(
        builder, begin,
        arith::AddIOp::create(
            builder, arith::MulIOp::create(builder, row, index(stride * bytes)),
            arith::MulIOp::create(builder, line, index(kLineBytes))));
    prefetchLine(builder, address);
  }
}

namespace {
struct PrefetchKVCachePass
    : ark::impl::PrefetchKVCachePassBase<PrefetchKVCachePass> {
  using PrefetchKVCachePassBase::PrefetchKVCachePassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body))
        run(*vctas.getBody());
  }

private:
  void run(Block &block);
};
} // namespace

void PrefetchKVCachePass::run(Block &block) {
  auto receives = block.getOps<ReceivePacketsOp>();
  if (receives.empty())
    return;
  ReceivePacketsOp first = *receives.begin();
  SmallVector<Value> rows = llvm::filter_to_vector(
      findRows(first), [&](Value view) { return moveBefore(view, first); });
  if (rows.empty())
    return;
  ImplicitLocOpBuilder builder(first.getLoc(), first);
  Value thread = createMappedLoop(builder, threads);
  for (Value view : rows)
    prefetchRows(builder, view, thread, threads);
  numPrefetched += rows.size();
}
