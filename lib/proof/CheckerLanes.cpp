//===- CheckerLanes.cpp - The lanes of a schedule, one for each SM --------===//

#include "lib/proof/CheckerLanes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

Lanes::Lanes(ScheduleOp schedule) {
  SmallVector<LaneOp> ops(schedule.getBody().getOps<LaneOp>());
  for (LaneOp op : ops) {
    std::vector<Operation *> &items = itemsOfOp.emplace_back();
    for (Operation &item : op.getBody().front())
      items.push_back(&item);
  }
  for (auto [op, items] : llvm::zip(ops, itemsOfOp))
    for (int64_t sm = op.getSmBegin(); sm < op.getSmEnd(); ++sm)
      lanes.push_back({op, sm, items});
}

std::vector<Item> checker::findPositions(const ProgramAccesses &program,
                                         ArrayRef<Lane> lanes) {
  llvm::StringMap<uint32_t> firstOf;
  for (auto [index, task] : llvm::enumerate(program.getTasks()))
    firstOf.try_emplace(TaskOp(task).getName(), program.getFirstVCTA(index));
  std::vector<Item> positions(program.getNumVCTAs());
  for (auto [index, lane] : llvm::enumerate(lanes))
    for (auto [position, op] : llvm::enumerate(lane.items)) {
      auto run = dyn_cast<RunOp>(op);
      if (!run)
        continue;
      auto [begin, end] = run.getRangeOn(lane.sm);
      auto first = positions.begin() + firstOf.lookup(run.getTask());
      std::fill(
          first + begin, first + end,
          Item{static_cast<uint32_t>(index), static_cast<uint32_t>(position)});
    }
  return positions;
}
