//===- CheckerLanes.h - Lanes of a schedule, one for each SM ----*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERLANES_H
#define ARK_LIB_PROOF_CHECKERLANES_H

#include "lib/proof/CheckerAccesses.h"

#include <tuple>

namespace mlir::ark::checker {

/// One lane on one SM. The items are the ops of the lane op, by position.
struct Lane {
  LaneOp op;
  int64_t sm;
  ArrayRef<Operation *> items;
};

/// An item of some lane.
struct Item {
  uint32_t lane = 0, item = 0;

  bool operator==(Item other) const {
    return lane == other.lane && item == other.item;
  }
  bool operator<(Item other) const {
    return std::tie(lane, item) < std::tie(other.lane, other.item);
  }
};

/// The lanes of a schedule: one for every SM of every lane op.
class Lanes {
public:
  explicit Lanes(ScheduleOp schedule);

  operator ArrayRef<Lane>() const { return lanes; }

private:
  std::vector<std::vector<Operation *>> itemsOfOp;
  std::vector<Lane> lanes;
};

/// Returns the item that runs each vCTA of a program.
std::vector<Item> findPositions(const ProgramAccesses &program,
                                ArrayRef<Lane> lanes);

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERLANES_H
