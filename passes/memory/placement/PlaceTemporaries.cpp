//===- PlaceTemporaries.cpp - Place temporaries of vCTAs on the stack -----===//

#include "lib/support/BufferView.h"
#include "passes/memory/placement/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PLACETEMPORARIESPASS
#include "passes/memory/placement/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// The size of a cache line, which suffices for the widest vector.
static constexpr int64_t kAlignment = 64;

namespace {
/// A temporary and its live range: `first` and `last` are the positions of the
/// ops of the body's entry block that contain its first and last use.
struct Temporary {
  memref::AllocOp alloc;
  llvm::SetVector<Value> aliases;
  /// Index of the temporary within the task.
  unsigned index = 0;
  unsigned first = std::numeric_limits<unsigned>::max(), last = 0;
};
} // namespace

/// Returns every value that may alias the memory of `root`.
static llvm::SetVector<Value> collectAliases(Value root) {
  llvm::SetVector<Value> aliases;
  aliases.insert(root);
  auto insertBuffers = [&](ValueRange values) {
    for (Value value : values)
      if (isa<BaseMemRefType>(value.getType()))
        aliases.insert(value);
  };
  for (size_t next = 0; next < aliases.size(); ++next)
    for (Operation *user : Value(aliases[next]).getUsers()) {
      insertBuffers(user->getResults());
      // Includes iteration arguments of loops and the values that loop bodies
      // yield.
      Operation *regionOp =
          user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user;
      if (isa<TaskOp>(regionOp))
        continue;
      insertBuffers(regionOp->getResults());
      for (Region &region : regionOp->getRegions())
        insertBuffers(region.getArguments());
    }
  return aliases;
}

/// Returns true if a buffer leaves the iteration that allocates it. Every
/// iteration then needs another buffer, so that one stack slot does not
/// suffice.
static bool leavesLoop(memref::AllocOp alloc,
                       const llvm::SetVector<Value> &aliases) {
  auto loop = alloc->getParentOfType<LoopLikeOpInterface>();
  if (!loop)
    return false;
  return llvm::any_of(aliases, [&](Value alias) {
    return llvm::any_of(alias.getUsers(), [&](Operation *user) {
      return user->getParentOp() == loop &&
             user->hasTrait<OpTrait::IsTerminator>();
    });
  });
}

static FailureOr<Temporary>
getTemporary(memref::AllocOp alloc, Block &body,
             const llvm::DenseMap<Operation *, unsigned> &positions) {
  if (!alloc.getType().hasStaticShape())
    return alloc.emitError("temporary has no static size");
  Temporary temporary{alloc, collectAliases(alloc)};
  if (leavesLoop(alloc, temporary.aliases))
    return alloc.emitError(
        "temporary is used outside of the iteration that allocates it");
  for (Value alias : temporary.aliases)
    for (Operation *user : alias.getUsers()) {
      // A view reads and writes no element.
      if (isa<ViewLikeOpInterface, memref::DimOp>(user))
        continue;
      unsigned use = positions.lookup(body.findAncestorOpInBlock(*user));
      temporary.first = std::min(temporary.first, use);
      temporary.last = std::max(temporary.last, use);
    }
  return temporary;
}

//===----------------------------------------------------------------------===//
// Sharing of a buffer within an op
//===----------------------------------------------------------------------===//

/// Returns true if two memrefs are whole temporaries of equal type, or equal
/// subviews of two temporaries.
static bool isSamePart(Value a, Value b) {
  if (a.getType() != b.getType())
    return false;
  auto viewA = a.getDefiningOp<memref::SubViewOp>();
  auto viewB = b.getDefiningOp<memref::SubViewOp>();
  if (!viewA || !viewB)
    return a.getDefiningOp<memref::AllocOp>() &&
           b.getDefiningOp<memref::AllocOp>();
  return viewA.getSource().getDefiningOp<memref::AllocOp>() &&
         viewB.getSource().getDefiningOp<memref::AllocOp>() &&
         viewA.getMixedOffsets() == viewB.getMixedOffsets() &&
         viewA.getMixedSizes() == viewB.getMixedSizes() &&
         viewA.getMixedStrides() == viewB.getMixedStrides();
}

/// Returns the operands of `op`, or of ops inside of it, that alias a
/// temporary.
static SmallVector<OpOperand *> getUses(Operation *op,
                                        const Temporary &temporary) {
  SmallVector<OpOperand *> uses;
  for (Value alias : temporary.aliases)
    for (OpOperand &use : alias.getUses())
      if (op->isAncestor(use.getOwner()))
        uses.push_back(&use);
  return uses;
}

/// Returns true if the owner of both operands may write its out `write` into
/// the memory of its input `read`.
static bool mayOverwrite(OpOperand &read, OpOperand &write) {
  if (auto bodyOp = dyn_cast<BodyOpInterface>(read.getOwner()))
    return bodyOp.mayOverwrite(read, write);
  auto op = dyn_cast<linalg::LinalgOp>(read.getOwner());
  if (!op || op.getNumLoops() != op.getNumParallelLoops() ||
      !op.isDpsInput(&read) || !op.isDpsInit(&write))
    return false;
  AffineMap map = op.getMatchingIndexingMap(&read);
  return map.isPermutation() && map == op.getMatchingIndexingMap(&write);
}

/// Returns true if an op that is the last reader of `ending` and the first
/// writer of `starting` may use one buffer for both: the op reads every element
/// at the position of its result.
static bool canReuse(Operation &op, const Temporary &ending,
                     const Temporary &starting) {
  SmallVector<OpOperand *> reads = getUses(&op, ending);
  SmallVector<OpOperand *> writes = getUses(&op, starting);
  return llvm::all_of(reads, [&](OpOperand *read) {
    return llvm::all_of(writes, [&](OpOperand *write) {
      return read->getOwner() == &op && write->getOwner() == &op &&
             mayOverwrite(*read, *write) &&
             isSamePart(read->get(), write->get());
    });
  });
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
/// One buffer at the head of the body and its latest user.
struct Slot {
  memref::AllocaOp alloca;
  const Temporary *user;
};

struct PlaceTemporariesPass
    : public ark::impl::PlaceTemporariesPassBase<PlaceTemporariesPass> {
  using PlaceTemporariesPassBase::PlaceTemporariesPassBase;

  void runOnOperation() override;
};
} // namespace

/// Returns the temporaries of a task in the order of their first uses.
static FailureOr<SmallVector<Temporary>> getTemporaries(TaskOp task) {
  Block &body = task.getBody().front();
  llvm::DenseMap<Operation *, unsigned> positions;
  for (auto [position, op] : llvm::enumerate(body))
    positions[&op] = position;
  SmallVector<Temporary> temporaries;
  WalkResult walk = task.walk([&](memref::AllocOp alloc) {
    FailureOr<Temporary> temporary = getTemporary(alloc, body, positions);
    if (failed(temporary))
      return WalkResult::interrupt();
    temporary->index = temporaries.size();
    temporaries.push_back(std::move(*temporary));
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  llvm::sort(temporaries, [](const Temporary &a, const Temporary &b) {
    return std::tie(a.first, a.index) < std::tie(b.first, b.index);
  });
  return temporaries;
}

void PlaceTemporariesPass::runOnOperation() {
  TaskOp task = getOperation();
  Block &body = task.getBody().front();
  FailureOr<SmallVector<Temporary>> temporaries = getTemporaries(task);
  if (failed(temporaries))
    return signalPassFailure();
  SmallVector<Operation *> ops =
      llvm::map_to_vector(body, [](Operation &op) { return &op; });

  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  SmallVector<Slot> slots;
  // The replacement happens at the end, so that every temporary keeps its own
  // uses until then.
  SmallVector<memref::AllocaOp> allocas;
  int64_t bytes = 0;
  for (const Temporary &temporary : *temporaries) {
    memref::AllocOp alloc = temporary.alloc;
    Slot *slot = llvm::find_if(slots, [&](Slot &slot) {
      unsigned last = slot.user->last;
      return slot.alloca.getType() == alloc.getType() &&
             (last < temporary.first ||
              (last == temporary.first &&
               canReuse(*ops[last], *slot.user, temporary)));
    });
    ++numTemporaries;
    if (slot != slots.end()) {
      ++numShared;
    } else {
      auto alloca =
          memref::AllocaOp::create(builder, alloc.getLoc(), alloc.getType(),
                                   builder.getI64IntegerAttr(kAlignment));
      bytes += llvm::alignTo(getBufferBytes(alloc.getType()), kAlignment);
      slots.push_back({alloca, nullptr});
      slot = &slots.back();
    }
    slot->user = &temporary;
    allocas.push_back(slot->alloca);
  }
  for (auto [temporary, alloca] : llvm::zip(*temporaries, allocas)) {
    temporary.alloc.replaceAllUsesWith(alloca.getMemref());
    temporary.alloc.erase();
  }
  if (bytes != 0)
    task.setSharedMemory(task.getSharedMemory() + bytes);
}
