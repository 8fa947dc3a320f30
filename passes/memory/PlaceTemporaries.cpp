//===- PlaceTemporaries.cpp - Temporaries of vCTAs on the stack -----------===//

#include "lib/support/BufferView.h"
#include "passes/memory/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PLACETEMPORARIESPASS
#include "passes/memory/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// A cache line; also what the widest vector wants.
static constexpr int64_t kAlignment = 64;

namespace {
/// A temporary, and when it is used: positions of ops of the body's entry
/// block, inside of which its first and last uses lie.
struct Temporary {
  memref::AllocOp alloc;
  unsigned first, last;
};
} // namespace

/// Every value that may name the memory of `root`, by whatever way it goes.
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
      // Iteration arguments of loops, and what their bodies yield.
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

/// A buffer that leaves the iteration which makes it is another one in every
/// iteration; one place on the stack cannot be all of them.
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
  llvm::SetVector<Value> aliases = collectAliases(alloc);
  if (leavesLoop(alloc, aliases))
    return alloc.emitError("temporary leaves the iteration that makes it");
  Temporary temporary{alloc, std::numeric_limits<unsigned>::max(), 0};
  for (Value alias : aliases)
    for (Operation *user : alias.getUsers()) {
      unsigned use = positions.lookup(body.findAncestorOpInBlock(*user));
      temporary.first = std::min(temporary.first, use);
      temporary.last = std::max(temporary.last, use);
    }
  return temporary;
}

namespace {
struct PlaceTemporariesPass
    : public ark::impl::PlaceTemporariesPassBase<PlaceTemporariesPass> {
  using PlaceTemporariesPassBase::PlaceTemporariesPassBase;

  void runOnOperation() override;

private:
  /// One buffer at the head of the body, and when it is last used.
  struct Slot {
    memref::AllocaOp alloca;
    unsigned last;
  };
};
} // namespace

void PlaceTemporariesPass::runOnOperation() {
  TaskOp task = getOperation();
  Block &body = task.getBody().front();
  llvm::DenseMap<Operation *, unsigned> positions;
  for (auto [position, op] : llvm::enumerate(body))
    positions[&op] = position;
  SmallVector<Temporary> temporaries;
  WalkResult walk = task.walk([&](memref::AllocOp alloc) {
    FailureOr<Temporary> temporary = getTemporary(alloc, body, positions);
    if (failed(temporary))
      return WalkResult::interrupt();
    temporaries.push_back(*temporary);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();

  auto order = llvm::to_vector(llvm::seq<size_t>(0, temporaries.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::tie(temporaries[a].first, a) <
           std::tie(temporaries[b].first, b);
  });
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  SmallVector<Slot> slots;
  int64_t bytes = 0;
  for (size_t index : order) {
    Temporary &temporary = temporaries[index];
    ++numTemporaries;
    MemRefType type = temporary.alloc.getType();
    Slot *slot = llvm::find_if(slots, [&](Slot &slot) {
      return slot.alloca.getType() == type && slot.last < temporary.first;
    });
    if (slot == slots.end()) {
      auto alloca =
          memref::AllocaOp::create(builder, temporary.alloc.getLoc(), type,
                                   builder.getI64IntegerAttr(kAlignment));
      slots.push_back({alloca, 0});
      slot = &slots.back();
      bytes += llvm::alignTo(getBufferBytes(type), kAlignment);
    } else {
      ++numShared;
    }
    slot->last = temporary.last;
    temporary.alloc.replaceAllUsesWith(slot->alloca.getMemref());
    temporary.alloc.erase();
  }
  if (bytes != 0)
    task.setSharedMemory(task.getSharedMemory() + bytes);
}
