//===- ScheduleChecker.cpp - The proof of a schedule ----------------------===//

#include "lib/proof/ScheduleChecker.h"
#include "lib/proof/CheckerExecution.h"
#include "lib/proof/CheckerNetwork.h"
#include "lib/proof/CheckerPackets.h"
#include "lib/proof/CheckerRaces.h"
#include "lib/proof/CheckerRanks.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

//===----------------------------------------------------------------------===//
// End of an iteration
//===----------------------------------------------------------------------===//

/// Checks that every lane ends with one barrier of all lanes. No item of the
/// next iteration can then happen before all items of this iteration. So no
/// signal counts for the wrong iteration, and iterations may reuse buffers.
static LogicalResult checkFinalBarrier(ArrayRef<Lane> lanes) {
  BarrierOp first;
  for (const Lane &lane : lanes) {
    BarrierOp barrier = lane.items.empty()
                            ? BarrierOp()
                            : dyn_cast<BarrierOp>(lane.items.back());
    if (!barrier)
      return LaneOp(lane.op).emitOpError("does not end in a barrier: the next "
                                         "iteration could overtake this one");
    if (!first)
      first = barrier;
    if (barrier.getSemaphore() == first.getSemaphore())
      continue;
    InFlightDiagnostic diagnostic =
        barrier.emitOpError("ends its lane at '@")
        << barrier.getSemaphore() << "', and another lane ends at '@"
        << first.getSemaphore()
        << "': the next iteration could overtake this one";
    diagnostic.attachNote(first.getLoc()) << "the other lane ends here";
    return diagnostic;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

FailureOr<ScheduleProof> mlir::ark::checkSchedule(ScheduleOp schedule) {
  ProgramAccesses program(cast<ProgramOp>(schedule->getParentOp()));
  if (failed(program.collect()))
    return failure();
  Lanes lanes(schedule);
  std::vector<Item> items = findPositions(program, lanes);
  Execution execution(schedule, program, lanes, items);
  // All lanes must end first: otherwise there are no clocks to compare.
  if (failed(execution.run()) || failed(checkFinalBarrier(lanes)) ||
      failed(checkPackets(schedule, program, lanes)) ||
      failed(checkRanks(schedule, program, lanes, items)) ||
      failed(checkNetwork(schedule, program, lanes, items, execution)))
    return failure();
  return checkRaces(program, lanes, items, execution);
}
