//===- FlashAttention.cpp - Attention in one pass over the keys -----------===//

#include "passes/target/AttentionLoops.h"
#include "passes/target/AttentionOps.h"
#include "passes/target/Bodies.h"
#include "passes/target/ParameterStreams.h"
#include "passes/target/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FLASHATTENTIONPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Of shared memory, what an attention may take: the rest is for copies of
/// parameters on their way.
static constexpr int64_t kMostBytes = 40 * 1024;

namespace {
struct FlashAttentionPass
    : ark::impl::FlashAttentionPassBase<FlashAttentionPass> {
  using FlashAttentionPassBase::FlashAttentionPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body);
          vctas && run(*vctas.getBody()) && hasSingleVctas(body))
        unwrap(vctas);
  }

private:
  bool run(Block &block);
  bool hasSingleVctas(func::FuncOp body);
  void replace(const AttentionOps &attention, const AttentionShape &shape);
  static void unwrap(scf::ForOp vctas);
};
} // namespace

void FlashAttentionPass::replace(const AttentionOps &attention,
                                 const AttentionShape &shape) {
  linalg::LinalgOp last = attention.getOps().back();
  ImplicitLocOpBuilder builder(last.getLoc(), last);
  createAttentionLoops(builder, attention, shape);
  for (linalg::LinalgOp op : attention.getOps())
    op.erase();
  ++numAttentions;
}

bool FlashAttentionPass::run(Block &block) {
  std::vector<std::pair<AttentionOps, AttentionShape>> found;
  for (auto op : block.getOps<linalg::LinalgOp>()) {
    std::optional<AttentionOps> attention = AttentionOps::match(op);
    if (!attention)
      continue;
    std::optional<AttentionShape> shape =
        AttentionShape::choose(*attention, threads, kMostBytes);
    if (shape)
      found.emplace_back(std::move(*attention), *shape);
  }
  for (auto &[attention, shape] : found)
    replace(attention, shape);
  return !found.empty();
}

/// Whether no lane ever runs two vCTAs of a body at once.
bool FlashAttentionPass::hasSingleVctas(func::FuncOp body) {
  return llvm::all_of(getOperation().getOps<KernelOp>(), [&](KernelOp kernel) {
    return getLongestRun(kernel, body) == 1;
  });
}

/// The loop over a single vCTA, where nothing that looks for it is left in it:
/// a compiler would keep all that does not depend on the vCTA in registers that
/// the attention needs.
void FlashAttentionPass::unwrap(scf::ForOp vctas) {
  Block *block = vctas.getBody();
  bool isElementwise =
      llvm::all_of(block->getOps<linalg::LinalgOp>(), [](linalg::LinalgOp op) {
        return op.getNumReductionLoops() == 0;
      });
  if (!isElementwise)
    return;
  block->getTerminator()->erase();
  IRRewriter(vctas.getContext())
      .inlineBlockBefore(block, vctas, {vctas.getLowerBound()});
  vctas.erase();
}
