//===- PacketSenders.cpp - Senders of the packets of a run ----------------===//

#include "lib/analysis/PacketSenders.h"

using namespace mlir;
using namespace mlir::ark;

FailureOr<PacketSenders>
PacketSenders::compute(const ExpandedSchedule &schedule) {
  PacketSenders senders;
  auto program = cast<ProgramOp>(schedule.op->getParentOp());
  if (program.getBody().getOps<PacketsOp>().empty())
    return senders;
  FailureOr<Dependences> dependences = Dependences::compute(program);
  if (failed(dependences))
    return failure();
  senders.needs.emplace(schedule, *dependences,
                        RunDependences::Carrier::Packets);
  return senders;
}

void PacketSenders::forEach(ItemRef run,
                            llvm::function_ref<void(ItemRef)> visit) const {
  if (needs)
    for (RunDependences::Need need : needs->getNeeds(run))
      for (ItemRef item : needs->getItems(need.items))
        visit(item);
}

std::optional<ItemRef> PacketSenders::findMissing(
    ItemRef run, llvm::function_ref<bool(ItemRef)> hasHappened) const {
  std::optional<ItemRef> missing;
  forEach(run, [&](ItemRef item) {
    if (!missing && !hasHappened(item))
      missing = item;
  });
  return missing;
}
