//===- FlashAttention.cpp - Attention in one pass over the keys -----------===//

#include "passes/target/attention/AttentionLoops.h"
#include "passes/target/attention/AttentionOps.h"
#include "passes/target/attention/Passes.h"
#include "passes/target/matrix_units/MatrixInstruction.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/support/MappedLoop.h"
#include "passes/target/tables/KernelTables.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FLASHATTENTIONPASS
#include "passes/target/attention/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct FlashAttentionPass
    : ark::impl::FlashAttentionPassBase<FlashAttentionPass> {
  using FlashAttentionPassBase::FlashAttentionPassBase;

  void runOnOperation() override {
    instructions = findRegisterMmas(getOperation());
    if (instructions.empty())
      return;
    warpgroupMma = findSharedMemoryMma(getOperation());
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
  std::optional<AttentionShape> choose(const AttentionOps &attention,
                                       int64_t longestWorkItem,
                                       int64_t reserved);
  int64_t getLaterBytes(OnlineAttentionOp op);
  int64_t getRoom(const AttentionOps &attention);
  int64_t getLongest(func::FuncOp body);
  void replace(const AttentionOps &attention, const AttentionShape &shape);
  static void unwrap(scf::ForOp vctas);
  static void share(scf::ForOp vctas, const AttentionShape &shape);

  /// The instructions of a warp.
  SmallVector<MmaAttr> instructions;
  /// The instruction of a warpgroup, which may be null.
  MmaAttr warpgroupMma;
};
} // namespace

/// Returns true if only an attention and views use a buffer.
static bool isUsedOnlyBy(Value buffer, const AttentionOps &attention) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    return attention.contains(user) ||
           (isa<ViewLikeOpInterface>(user) &&
            isUsedOnlyBy(user->getResult(0), attention));
  });
}

/// Returns the bytes of shared memory that the loops may use: those beside the
/// temporaries of other ops. The loops replace the temporaries of the
/// attention.
int64_t FlashAttentionPass::getRoom(const AttentionOps &attention) {
  auto target =
      getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  auto body = attention.op->getParentOfType<func::FuncOp>();
  int64_t room = getSharedRoom(body, target ? target.getSharedMemory() : 0);
  body.walk([&](memref::AllocaOp temporary) {
    if (isUsedOnlyBy(temporary, attention))
      room += getSharedBytes(temporary);
  });
  return room;
}

/// Returns the shape of the loops, for warpgroups if possible.
/// `longestWorkItem` is the largest number of vCTAs of a work item, and
/// `reserved` the bytes of shared memory for later attentions.
std::optional<AttentionShape>
FlashAttentionPass::choose(const AttentionOps &attention,
                           int64_t longestWorkItem, int64_t reserved) {
  int64_t room = getRoom(attention) - reserved;
  if (auto shape = AttentionShape::chooseWarpgroups(attention, warpgroupMma,
                                                    threads, room))
    return shape;
  auto shape =
      AttentionShape::choose(attention, instructions, threads, longestWorkItem);
  auto target =
      getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  shape->useRoom(room, target && target.hasCopy(CopyKind::LoadLds));
  return shape;
}

/// Returns the bytes of shared memory that the loops of warps need for the
/// attentions after `op` in its block.
int64_t FlashAttentionPass::getLaterBytes(OnlineAttentionOp op) {
  int64_t bytes = 0;
  for (Operation *later = op->getNextNode(); later;
       later = later->getNextNode()) {
    auto other = dyn_cast<OnlineAttentionOp>(later);
    std::optional<AttentionOps> attention =
        other ? AttentionOps::get(other) : std::nullopt;
    if (!attention)
      continue;
    if (auto shape = AttentionShape::choose(*attention, instructions, threads,
                                            /*longestWorkItem=*/1))
      bytes += shape->getBytes();
  }
  return bytes;
}

void FlashAttentionPass::replace(const AttentionOps &attention,
                                 const AttentionShape &shape) {
  SmallVector<Operation *> ops = attention.getOps();
  ImplicitLocOpBuilder builder(ops.back()->getLoc(), ops.back());
  createAttentionLoops(builder, attention, shape);
  for (Operation *op : ops)
    op->erase();
  ++numAttentions;
}

/// Returns true if the loop over vCTAs may be divided among teams: its body
/// consists of one attention and the ops that compute its addresses.
static bool hasOnlyAttention(Block &block, const AttentionOps &attention) {
  return llvm::all_of(block.without_terminator(), [&](Operation &op) {
    return attention.contains(&op) || isMemoryEffectFree(&op) ||
           isa<memref::LoadOp>(op);
  });
}

/// Lets a row op copy each result that ops other than row ops may read. The
/// loops store the results of row ops only.
static void copyExposedResults(OnlineAttentionOp op,
                               ArrayRef<OpOperand *> exposed) {
  ImplicitLocOpBuilder builder(op.getLoc(), op->getContext());
  for (OpOperand *out : exposed) {
    Value buffer = out->get();
    builder.setInsertionPointAfter(op);
    int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
    auto own = MemRefType::get(op.getShape(out), op.getElementType());
    out->set(createTemporary(builder, own, kSharedAlignment));
    SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    linalg::GenericOp::create(
        builder, TypeRange(), out->get(), buffer, maps, iterators,
        [](OpBuilder &b, Location l, ValueRange elements) {
          linalg::YieldOp::create(b, l, elements.front());
        });
  }
}

/// Returns the ops of an attention, whose results only row ops read.
static std::optional<AttentionOps> getAttention(OnlineAttentionOp op) {
  std::optional<AttentionOps> attention = AttentionOps::get(op);
  if (!attention)
    return std::nullopt;
  SmallVector<OpOperand *> exposed = attention->getExposedResults();
  if (exposed.empty())
    return attention;
  copyExposedResults(op, exposed);
  return AttentionOps::get(op);
}

/// Replaces the attentions of a block. Returns the shape of the last attention.
std::optional<AttentionShape> FlashAttentionPass::run(Block &block,
                                                      int64_t longest) {
  std::optional<AttentionShape> last;
  for (auto op :
       llvm::make_early_inc_range(block.getOps<OnlineAttentionOp>())) {
    std::optional<AttentionOps> attention = AttentionOps::get(op);
    if (!attention || !AttentionShape::choose(*attention, instructions, threads,
                                              /*longestWorkItem=*/1))
      continue;
    attention = getAttention(op);
    int64_t longestWorkItem = hasOnlyAttention(block, *attention) ? longest : 1;
    last = choose(*attention, longestWorkItem, getLaterBytes(op));
    replace(*attention, *last);
  }
  return last;
}

/// Returns the largest number of vCTAs in a work item of the body.
int64_t FlashAttentionPass::getLongest(func::FuncOp body) {
  int64_t longest = 0;
  for (auto kernel : getOperation().getOps<KernelOp>())
    longest = std::max(longest, getLongestWorkItem(kernel, body));
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

/// Replaces the loop over a single vCTA by its body, unless an attention or a
/// reduction is left in the loop. In a loop, compilers would keep all values
/// that do not depend on the vCTA in registers, which the attention needs.
void FlashAttentionPass::unwrap(scf::ForOp vctas) {
  Block *block = vctas.getBody();
  bool isElementwise =
      block->getOps<OnlineAttentionOp>().empty() &&
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
