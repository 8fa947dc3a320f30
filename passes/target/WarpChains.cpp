//===- WarpChains.cpp - Row-wise fusion of ops, by warps ------------------===//

#include "passes/target/Bodies.h"
#include "passes/target/Lowerings.h"
#include "passes/target/Passes.h"
#include "passes/target/RowChainLoops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {
#define GEN_PASS_DEF_WARPCHAINSPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Columns of the longest row for which a warp has registers.
static constexpr int64_t kMostColumns = 8 * kWarpSize;

namespace {
struct WarpChainsPass : ark::impl::WarpChainsPassBase<WarpChainsPass> {
  using WarpChainsPassBase::WarpChainsPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body))
        run(*vctas.getBody());
  }

private:
  void run(Block &block);
};
} // namespace

/// Replaces the chains of a block. The last warps have rows, since short loops
/// that do not depend on the chain begin with the first threads.
void WarpChainsPass::run(Block &block) {
  int64_t warps = threads / kWarpSize, left = warps;
  for (const RowChain &chain : findRowChains(block)) {
    int64_t rows = chain.getNumRows();
    if (rows == 0 || rows > warps || chain.getNumColumns() > kMostColumns)
      continue;
    left = rows <= left ? left - rows : warps - rows;
    linalg::GenericOp last = chain.getOps().back().op;
    ImplicitLocOpBuilder builder(last.getLoc(), last);
    createRowChainLoop(builder, chain, threads, left);
    for (const ChainOp &op : llvm::reverse(chain.getOps()))
      linalg::GenericOp(op.op).erase();
    for (linalg::LinalgOp fill : chain.getFills())
      fill.erase();
    numRows += rows;
  }
}
