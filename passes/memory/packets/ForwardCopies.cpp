//===- ForwardCopies.cpp - Compute copies of results again ----------------===//

#include "passes/memory/packets/ForwardCopies.h"

#include "lib/support/PacketRows.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the index of the out whose tile is `value`, or nothing.
static std::optional<unsigned> getOut(TaskOp task, Value value) {
  auto tile = dyn_cast<BlockArgument>(value);
  unsigned inputs = task.getGrid().size() + task.getInputs().size();
  if (!tile || tile.getOwner() != &task.getBody().front() ||
      tile.getArgNumber() < inputs)
    return std::nullopt;
  return tile.getArgNumber() - inputs;
}

static bool isSmall(Value out, int64_t maxElements) {
  auto type = cast<MemRefType>(out.getType());
  return getPacketType(type.getElementType()) && type.hasStaticShape() &&
         type.getNumElements() <= maxElements;
}

/// Returns the last op before `copy` that writes `tile`, if it is elementwise,
/// reads no result, and only writes of other results follow it. Returns null
/// otherwise.
static linalg::GenericOp getProducer(TaskOp task, Value tile,
                                     linalg::CopyOp copy) {
  for (Operation *op = copy->getPrevNode(); op; op = op->getPrevNode()) {
    if (isMemoryEffectFree(op))
      continue;
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (!structured || structured.getNumDpsInits() != 1 ||
        !getOut(task, structured.getDpsInits()[0]))
      return nullptr;
    if (structured.getDpsInits()[0] != tile)
      continue;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    bool isElementwise =
        generic && generic.getNumLoops() == generic.getNumParallelLoops() &&
        generic.getRegionOutputArgs()[0].use_empty() &&
        llvm::none_of(generic.getDpsInputs(), [&](Value input) {
          return getOut(task, input).has_value();
        });
    return isElementwise ? generic : nullptr;
  }
  return nullptr;
}

void ark::forwardCopies(TaskOp task, int64_t maxElements) {
  // An update in place may have a state as input and as out, so a clone could
  // read overwritten elements.
  if (task.getInPlace())
    return;
  auto copies = task.getBody().front().getOps<linalg::CopyOp>();
  for (linalg::CopyOp copy : llvm::make_early_inc_range(copies)) {
    Value from = copy.getInputs()[0], to = copy.getOutputs()[0];
    std::optional<unsigned> out = getOut(task, from);
    if (!out || !getOut(task, to) ||
        !isSmall(task.getOuts()[*out], maxElements))
      continue;
    linalg::GenericOp producer = getProducer(task, from, copy);
    if (!producer)
      continue;
    OpBuilder builder(copy);
    auto clone = cast<linalg::GenericOp>(builder.clone(*producer));
    clone.getDpsInitsMutable()[0].set(to);
    clone->setLoc(copy.getLoc());
    copy.erase();
  }
}
