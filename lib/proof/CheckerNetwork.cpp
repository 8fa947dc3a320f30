//===- CheckerNetwork.cpp - Rules of copies between domains ---------------===//

#include "lib/proof/CheckerNetwork.h"

#include "dialects/ark/ArkDomains.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

namespace {
class NetworkChecker {
public:
  NetworkChecker(ScheduleOp schedule, const ProgramAccesses &program,
                 ArrayRef<Lane> lanes, ArrayRef<Item> positions,
                 const Execution &execution)
      : schedule(schedule), op(cast<ProgramOp>(schedule->getParentOp())),
        domains(op), program(program), lanes(lanes), positions(positions),
        execution(execution),
        smsOfRank(int64_t(schedule.getSms()) / op.getNumRanks()) {}

  LogicalResult run();

private:
  /// A copy to bytes of a rank of another domain.
  struct Copy {
    unsigned task;
    int64_t receiver;
    Bounds bytes;
  };

  int64_t getRank(unsigned lane) const { return lanes[lane].sm / smsOfRank; }
  LogicalResult findCopies(const OperandAccess &access);
  LogicalResult checkCopy(const OperandAccess &access, Item at);
  LogicalResult checkLane(unsigned lane);
  LogicalResult checkSemaphore(unsigned lane, Operation *signal);
  LogicalResult checkOverlap(unsigned lane);
  LogicalResult checkArrival(Item copy);
  InFlightDiagnostic report(Item at) const;

  ScheduleOp schedule;
  ProgramOp op;
  Domains domains;
  const ProgramAccesses &program;
  ArrayRef<Lane> lanes;
  ArrayRef<Item> positions;
  const Execution &execution;
  int64_t smsOfRank;
  /// The copies, by work item.
  std::map<Item, Copy> copies;
};
} // namespace

InFlightDiagnostic NetworkChecker::report(Item at) const {
  const Copy &copy = copies.at(at);
  TaskOp task = program.getTasks()[copy.task];
  InFlightDiagnostic diagnostic =
      lanes[at.lane].items[at.item]->emitOpError("of '")
      << task.getName() << "' on SM " << lanes[at.lane].sm << " of rank "
      << getRank(at.lane) << " writes memory of rank " << copy.receiver
      << " in another domain";
  diagnostic.attachNote(task.getLoc())
      << "the task is '" << task.getName() << "'";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Returns true if the body of a task copies its input to its out. The tasks of
/// a bundle have no bodies.
static bool copiesInput(TaskOp task) {
  Block &body = task.getBody().front();
  auto ops = body.without_terminator();
  if (ops.empty())
    return true;
  if (!llvm::hasSingleElement(ops))
    return false;
  auto copy = dyn_cast<linalg::CopyOp>(*ops.begin());
  return copy && copy.getInputs().front() == task.getInputTiles().front() &&
         copy.getOutputs().front() == task.getOutTiles().front();
}

/// Returns the reason why a network adapter cannot execute a task, or null.
static const char *findObstacle(TaskOp task) {
  if (task.getInputs().size() != 1 || task.getOuts().size() != 1)
    return "it does not have one input and one out";
  if (task.getNumVCTAs() != 1)
    return "it has more than one vCTA";
  FailureOr<BufferView> from = resolveBufferView(task.getInputs().front()),
                        to = resolveBufferView(task.getOuts().front());
  if (failed(from) || !from->root.getDefiningOp<ArenaOp>())
    return "its input is not in the arena";
  if (failed(to) || !to->root.getDefiningOp<ArenaOp>())
    return "its out is not in the arena";
  if (!from->isDense() || !to->isDense())
    return "its operands are not contiguous";
  if (from->shape != to->shape || from->elementType != to->elementType)
    return "its operands have different types";
  for (unsigned operand : {0u, 1u})
    if (ArrayRef<int64_t>(task.getRegion(operand).getSizes()) !=
        ArrayRef<int64_t>(from->shape))
      return "its vCTA does not copy the whole buffer";
  if (!copiesInput(task))
    return "its body is not a copy";
  return nullptr;
}

/// network_c1
LogicalResult NetworkChecker::checkCopy(const OperandAccess &access, Item at) {
  const char *obstacle = findObstacle(program.getTasks()[access.task]);
  if (!obstacle)
    return success();
  return report(at) << ", but a network adapter cannot execute the task: "
                    << obstacle << " (network_c1)";
}

/// Finds the vCTAs that write memory of another domain.
LogicalResult NetworkChecker::findCopies(const OperandAccess &access) {
  const BufferView &view = access.view;
  int64_t part =
      getBufferBytes(cast<ShapedType>(view.root.getType())) / op.getNumRanks();
  uint32_t first = program.getFirstVCTA(access.task);
  LogicalResult result = success();
  forEachRegion(access, [&](int64_t vcta, ArrayRef<Bounds> box) {
    bool isEmpty = llvm::any_of(
        box, [](Bounds range) { return range.first >= range.second; });
    if (failed(result) || isEmpty)
      return;
    int64_t begin = view.byteOffset, end = begin + view.elementBytes;
    for (auto [range, stride] : llvm::zip(box, view.strides)) {
      begin += range.first * stride * view.elementBytes;
      end += (range.second - 1) * stride * view.elementBytes;
    }
    Item at = positions[first + vcta];
    int64_t rank = getRank(at.lane);
    for (int64_t owner : {begin / part, (end - 1) / part})
      if (domains.areApart(rank, owner)) {
        copies.insert({at, {access.task, owner, {begin, end}}});
        result = checkCopy(access, at);
        return;
      }
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

/// network_c3: checks that only lanes of the receiver wait for a signal.
LogicalResult NetworkChecker::checkSemaphore(unsigned lane, Operation *signal) {
  Item copy = copies.lower_bound({lane, 0})->first;
  int64_t receiver = copies.at(copy).receiver;
  auto semaphore = cast<SignalOp>(signal).getSemaphoreAttr();
  for (auto [index, other] : llvm::enumerate(lanes))
    for (Operation *item : other.items) {
      if (!isa<WaitOp, BarrierOp>(item) ||
          item->getAttr("semaphore") != semaphore || getRank(index) == receiver)
        continue;
      InFlightDiagnostic diagnostic =
          report(copy) << ", and the lane signals '" << semaphore
                       << "', for which rank " << getRank(index)
                       << " waits: the signal does not show that the copy has "
                          "ended (network_c3)";
      diagnostic.attachNote(item->getLoc())
          << "rank " << getRank(index) << " waits on SM " << other.sm;
      return diagnostic;
    }
  return success();
}

/// network_c2, network_c3
LogicalResult NetworkChecker::checkLane(unsigned lane) {
  auto found = copies.lower_bound({lane, 0});
  if (found == copies.end() || found->first.lane != lane)
    return success();
  auto [first, copy] = *found;
  ArrayRef<Operation *> items = lanes[lane].items;
  for (auto [index, item] : llvm::enumerate(items)) {
    if (isa<RunOp, PrefetchOp>(item)) {
      auto other = copies.find({lane, unsigned(index)});
      if (other != copies.end() && other->second.receiver == copy.receiver)
        continue;
      InFlightDiagnostic diagnostic =
          report(first) << ", and its lane does not only copy to rank "
                        << copy.receiver << " (network_c2)";
      diagnostic.attachNote(item->getLoc()) << "the lane runs this item, too";
      return diagnostic;
    }
    if (isa<BarrierOp>(item) && index + 1 < items.size())
      return report(first) << ", and its lane passes the barrier '@"
                           << cast<BarrierOp>(item).getSemaphore()
                           << "' before the end (network_c3)";
    if (isa<SignalOp>(item) && failed(checkSemaphore(lane, item)))
      return failure();
  }
  return success();
}

/// network_c5
LogicalResult NetworkChecker::checkOverlap(unsigned lane) {
  for (auto a = copies.lower_bound({lane, 0});
       a != copies.end() && a->first.lane == lane; ++a)
    for (auto b = copies.lower_bound({lane, 0}); b != a; ++b) {
      Bounds x = a->second.bytes, y = b->second.bytes;
      if (x.second <= y.first || y.second <= x.first)
        continue;
      InFlightDiagnostic diagnostic =
          report(a->first) << ", to bytes that the lane has copied to before: "
                              "copies may arrive in any order (network_c5)";
      Item before = b->first;
      diagnostic.attachNote(lanes[lane].items[before.item]->getLoc())
          << "the copy before";
      return diagnostic;
    }
  return success();
}

/// network_c4
LogicalResult NetworkChecker::checkArrival(Item copy) {
  int64_t receiver = copies.at(copy).receiver;
  for (auto [index, lane] : llvm::enumerate(lanes)) {
    // The arrival of the copying lane at the last barrier shows nothing, so the
    // clock before this barrier counts.
    if (getRank(index) != receiver || lane.items.size() < 2)
      continue;
    uint32_t clock = execution.getClockIndex(index, lane.items.size() - 2);
    if (execution.knows(clock, copy.lane, copy.item))
      return success();
  }
  return report(copy)
         << ", which waits for no signal after the copy: the copy may end "
            "after the iteration (network_c4)";
}

LogicalResult NetworkChecker::run() {
  if (!domains.areSeveral())
    return success();
  for (const BufferAccesses &buffer : program.getBuffers()) {
    // By sharing_c5, no vCTA accesses an argument of another rank.
    if (isa<BlockArgument>(buffer.root))
      continue;
    for (const OperandAccess *access : buffer.accesses)
      if (access->isWrite && failed(findCopies(*access)))
        return failure();
  }
  for (unsigned lane = 0; lane < lanes.size(); ++lane)
    if (failed(checkLane(lane)) || failed(checkOverlap(lane)))
      return failure();
  for (const auto &[at, copy] : copies)
    if (failed(checkArrival(at)))
      return failure();
  return success();
}

LogicalResult checker::checkNetwork(ScheduleOp schedule,
                                    const ProgramAccesses &program,
                                    ArrayRef<Lane> lanes,
                                    ArrayRef<Item> positions,
                                    const Execution &execution) {
  return NetworkChecker(schedule, program, lanes, positions, execution).run();
}
