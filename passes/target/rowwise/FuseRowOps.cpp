//===- FuseRowOps.cpp - Row-wise fusion of ops, by warps ------------------===//

#include "passes/target/rowwise/Passes.h"
#include "passes/target/rowwise/RowChainLoops.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/Warp.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FUSEROWOPSPASS
#include "passes/target/rowwise/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the columns of a row per thread: more would exceed the
/// registers of a warp.
static constexpr int64_t kMaxColumnsPerThread = 8;

namespace {
struct FuseRowOpsPass : ark::impl::FuseRowOpsPassBase<FuseRowOpsPass> {
  using FuseRowOpsPassBase::FuseRowOpsPassBase;

  void runOnOperation() override {
    FailureOr<int64_t> warpThreads = getWarpSize(getOperation(), warpSize);
    if (failed(warpThreads))
      return signalPassFailure();
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body))
        run(*vctas.getBody(), *warpThreads);
  }

private:
  void run(Block &block, int64_t warpThreads);
};
} // namespace

/// Replaces the chains of a block. Rows go to the last warps, because short
/// independent loops use the first threads.
void FuseRowOpsPass::run(Block &block, int64_t warpThreads) {
  int64_t warps = threads / warpThreads, left = warps;
  for (const RowChain &chain : findRowChains(block)) {
    int64_t rows = chain.getNumRows();
    if (rows == 0 || rows > warps ||
        chain.getNumColumns() > kMaxColumnsPerThread * warpThreads)
      continue;
    left = rows <= left ? left - rows : warps - rows;
    linalg::GenericOp last = chain.getOps().back().op;
    ImplicitLocOpBuilder builder(last.getLoc(), last);
    createRowChainLoop(builder, chain, threads, warpThreads, left);
    for (const ChainOp &op : llvm::reverse(chain.getOps()))
      linalg::GenericOp(op.op).erase();
    for (linalg::LinalgOp fill : chain.getFills())
      fill.erase();
    numRows += rows;
  }
}
