//===- FlashAttention.cpp - Attention in one pass over the keys -----------===//

#include "passes/target/attention/AttentionLoops.h"
#include "passes/target/attention/AttentionOps.h"
#include "passes/target/attention/Passes.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/KernelTables.h"
#include "passes/target/support/MappedLoop.h"
#include "passes/target/support/MatrixInstruction.h"

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
#include "passes/target/attention/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the shared memory of an attention in bytes. The rest is used
/// for streamed parameters.
static constexpr int64_t kMostBytes = 40 * 1024;

namespace {
struct FlashAttentionPass
    : ark::impl::FlashAttentionPassBase<FlashAttentionPass> {
  using FlashAttentionPassBase::FlashAttentionPassBase;

  void runOnOperation() override {
    mma = findMma(getOperation(), MmaKind::MmaSync);
    if (!mma)
      return;
    for (func::FuncOp body : getBodies(getOperation())) {
      scf::ForOp vctas = getVctaLoop(body);
      if (!vctas)
        continue;
      int64_t longest = getLongest(body);
      std::optional<AttentionShape> shape = run(*vctas.getBody(), longest);
      if (shape && longest == 1)
        unwrap(vctas);
      else if (shape && shape->teams > 1)
        share(vctas, *shape);
    }
  }

private:
  std::optional<AttentionShape> run(Block &block, int64_t longest);
  int64_t getLongest(func::FuncOp body);
  void replace(const AttentionOps &attention, const AttentionShape &shape);
  static void unwrap(scf::ForOp vctas);
  static void share(scf::ForOp vctas, const AttentionShape &shape);

  /// The instruction of a warp.
  MmaAttr mma;
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

/// Returns true if the loop over vCTAs may be divided among teams: its body
/// consists of one attention and the ops that compute its addresses.
static bool hasOnlyAttention(Block &block, const AttentionOps &attention) {
  return llvm::all_of(block.without_terminator(), [&](Operation &op) {
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    return structured ? llvm::is_contained(attention.getOps(), structured)
                      : isMemoryEffectFree(&op) || isa<memref::LoadOp>(op);
  });
}

/// Replaces the attentions of a block. Returns the shape of the last attention.
std::optional<AttentionShape> FlashAttentionPass::run(Block &block,
                                                      int64_t longest) {
  std::vector<std::pair<AttentionOps, AttentionShape>> found;
  for (auto op : block.getOps<linalg::LinalgOp>()) {
    std::optional<AttentionOps> attention = AttentionOps::match(op);
    if (!attention)
      continue;
    int64_t run = hasOnlyAttention(block, *attention) ? longest : 1;
    std::optional<AttentionShape> shape =
        AttentionShape::choose(*attention, mma, threads, kMostBytes, run);
    if (shape)
      found.emplace_back(std::move(*attention), *shape);
  }
  for (auto &[attention, shape] : found)
    replace(attention, shape);
  return found.empty() ? std::nullopt : std::optional(found.back().second);
}

/// Returns the largest number of vCTAs in a run of the body.
int64_t FlashAttentionPass::getLongest(func::FuncOp body) {
  int64_t longest = 0;
  for (auto kernel : getOperation().getOps<KernelOp>())
    longest = std::max(longest, getLongestRun(kernel, body));
  return longest;
}

/// Divides the loop over vCTAs among teams of warps in round-robin order. Teams
/// are independent, so that no barrier is needed between two vCTAs.
void FlashAttentionPass::share(scf::ForOp vctas, const AttentionShape &shape) {
  ImplicitLocOpBuilder builder(vctas.getLoc(), vctas);
  int64_t threads = shape.warps * shape.getWarpSize();
  Value thread = createMappedLoop(builder, shape.teams * threads);
  Value size = arith::ConstantIndexOp::create(builder, threads);
  Value team = arith::DivUIOp::create(builder, thread, size);
  Value distance =
      arith::MulIOp::create(builder, team, vctas.getStep()).getResult();
  Value begin = arith::AddIOp::create(builder, vctas.getLowerBound(), distance);
  Value step = arith::MulIOp::create(
      builder, vctas.getStep(),
      arith::ConstantIndexOp::create(builder, shape.teams));
  auto own = scf::ForOp::create(builder, begin, vctas.getUpperBound(), step);
  IRRewriter rewriter(builder);
  Block *block = vctas.getBody();
  block->getTerminator()->erase();
  rewriter.inlineBlockBefore(block, own.getBody()->getTerminator(),
                             {own.getInductionVar()});
  vctas.erase();
  auto loop = *own.getBody()->getOps<scf::ForallOp>().begin();
  loop.getBody()->getTerminator()->erase();
  rewriter.inlineBlockBefore(loop.getBody(), loop, {thread});
  loop.erase();
}

/// Replaces the loop over a single vCTA by its body, unless another op needs
/// the loop. Inside a loop, a compiler would keep all values that do not depend
/// on the vCTA in registers, which the attention needs.
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
