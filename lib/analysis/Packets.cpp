//===- Packets.cpp - Tasks that write packets -----------------------------===//

#include "lib/analysis/Packets.h"

#include "lib/support/BufferView.h"

using namespace mlir;
using namespace mlir::ark;

bool mlir::ark::putsPackets(TaskOp task) {
  return task.getBody()
      .walk([](EpochOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

std::optional<StringRef> mlir::ark::findPacketObstacle(TaskOp task) {
  if (!putsPackets(task))
    return "it puts no packets";
  if (task.getOuts().size() != 1)
    return "it writes more than its packets";
  if (task.getNumVCTAs() != 1)
    return "it has more than one vCTA";
  FailureOr<BufferView> view = resolveBufferView(task.getOuts().front());
  if (failed(view) || !view->elementType.isSignlessInteger(64) ||
      !isa_and_nonnull<ArenaOp>(view->root.getDefiningOp()))
    return "its packets are not in the arena";
  RegionAttr region = task.getRegion(task.getInputs().size());
  if (llvm::any_of(llvm::zip(region.getSizes(), view->shape), [](auto pair) {
        return std::get<0>(pair) < std::get<1>(pair);
      }))
    return "it does not write all of its packets";
  int64_t bytes = view->getNumElements() * view->elementBytes;
  if (bytes == 0 || view->getByteEnd() - view->byteOffset != bytes)
    return "its packets are not contiguous";
  return std::nullopt;
}
