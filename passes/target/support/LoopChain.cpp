//===- LoopChain.cpp - Structured ops fused into one loop -----------------===//

#include "passes/target/support/LoopChain.h"

#include "passes/target/support/Aliasing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Returns true if shuffles support values of this type, which needs 32 bits.
static bool isShuffleType(Type type) {
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() == 32;
}

std::optional<Reduction> Reduction::match(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return std::nullopt;
  Value accumulator = op.getRegionOutputArgs().front();
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  if (!isShuffleType(accumulator.getType()) || !accumulator.hasOneUse() ||
      !combiner || *accumulator.user_begin() != combiner ||
      combiner->getNumOperands() != 2)
    return std::nullopt;
  std::optional<TypedAttr> neutral = arith::getNeutralElement(combiner);
  if (!neutral)
    return std::nullopt;
  bool isLeft = combiner->getOperand(0) == accumulator;
  return Reduction{combiner, combiner->getOperand(isLeft ? 1 : 0), *neutral};
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// Returns the parallel loop along every dimension of an operand. Returns
/// nothing unless every iteration of the parallel loops accesses its own
/// element.
static std::optional<SmallVector<unsigned>>
getElementOfIteration(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  SmallVector<unsigned> dims, element;
  op.getParallelDims(dims);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  llvm::BitVector seen(dims.size());
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    auto *position = dim ? llvm::find(dims, dim.getPosition()) : dims.end();
    if (position == dims.end())
      return std::nullopt;
    element.push_back(position - dims.begin());
    seen.set(element.back());
  }
  for (auto [i, dim] : llvm::enumerate(dims))
    if (!seen[i] && extents[dim] != 1)
      return std::nullopt;
  return element;
}

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

/// Returns true if `op` can become a parallel loop.
static bool canBecomeLoop(linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return false;
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!isMemoryEffectFree(&inner))
      return false;
  return op.getNumReductionLoops() == 0 || Reduction::match(op);
}

SmallVector<BufferExtent> ark::getExtents(linalg::LinalgOp op, unsigned loop) {
  SmallVector<BufferExtent> extents;
  AffineExpr wanted = getAffineDimExpr(loop, op.getContext());
  for (OpOperand &operand : op->getOpOperands())
    if (std::optional<unsigned> dim =
            op.getMatchingIndexingMap(&operand).getResultPosition(wanted))
      extents.push_back({operand.get(), *dim});
  return extents;
}

static bool haveEqualExtents(linalg::LinalgOp a, unsigned loopOfA,
                             linalg::LinalgOp b, unsigned loopOfB) {
  int64_t first = a.getStaticLoopRanges()[loopOfA],
          second = b.getStaticLoopRanges()[loopOfB];
  if (ShapedType::isStatic(first) || ShapedType::isStatic(second))
    return first == second;
  for (BufferExtent extentOfA : getExtents(a, loopOfA))
    for (BufferExtent extentOfB : getExtents(b, loopOfB)) {
      FailureOr<bool> equal = ValueBoundsConstraintSet::areEqual(
          {extentOfA.buffer, extentOfA.dim}, {extentOfB.buffer, extentOfB.dim});
      if (succeeded(equal) && *equal)
        return true;
    }
  return false;
}

bool LoopChain::hasSameSpace(linalg::LinalgOp op) const {
  linalg::LinalgOp first = ops.front();
  SmallVector<unsigned> loops, wanted;
  op.getParallelDims(loops);
  first.getParallelDims(wanted);
  if (loops.size() != wanted.size())
    return false;
  for (auto [loop, other] : llvm::zip(loops, wanted))
    if (!haveEqualExtents(op, loop, first, other))
      return false;
  return true;
}

/// Returns true if these operands allow interleaving the iterations of two ops.
static bool mayInterleave(OpOperand &a, OpOperand &b) {
  auto writes = [](OpOperand &operand) {
    return cast<linalg::LinalgOp>(operand.getOwner()).isDpsInit(&operand);
  };
  bool areBuffers =
      isa<MemRefType>(a.get().getType()) && isa<MemRefType>(b.get().getType());
  if (!areBuffers || (!writes(a) && !writes(b)) || !mayAlias(a.get(), b.get()))
    return true;
  auto elementOfA = getElementOfIteration(a),
       elementOfB = getElementOfIteration(b);
  return a.get() == b.get() && elementOfA && elementOfB &&
         *elementOfA == *elementOfB;
}

bool LoopChain::isIndependentOrOwn(linalg::LinalgOp op) const {
  for (linalg::LinalgOp earlier : ops)
    for (OpOperand &a : earlier->getOpOperands())
      for (OpOperand &b : op->getOpOperands())
        if (!mayInterleave(a, b))
          return false;
  return true;
}

bool LoopChain::add(linalg::LinalgOp op) {
  if (!canBecomeLoop(op) ||
      (!empty() && (!hasSameSpace(op) || !isIndependentOrOwn(op))))
    return false;
  ops.push_back(op);
  return true;
}

bool LoopChain::isPrivate(Value buffer) const {
  Value root = getRoot(buffer);
  if (!root.getDefiningOp<memref::AllocaOp>())
    return false;
  SmallVector<Value> views = {root};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (isa<ViewLikeOpInterface>(user))
        llvm::append_range(views, user->getResults());
      else if (llvm::none_of(ops, [&](linalg::LinalgOp op) {
                 return op.getOperation() == user;
               }))
        return false;
    }
  return true;
}
