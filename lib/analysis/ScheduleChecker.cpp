//===- ScheduleChecker.cpp - The proof of a schedule ----------------------===//

#include "lib/analysis/ScheduleChecker.h"
#include "lib/analysis/CheckerCells.h"
#include "lib/analysis/CheckerExecution.h"
#include "lib/analysis/CheckerPackets.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

//===----------------------------------------------------------------------===//
// End of an iteration
//===----------------------------------------------------------------------===//

/// Every lane ends in one barrier of all lanes. Nothing of the next iteration
/// can then happen before all of this one has: signals are never counted for
/// the wrong iteration, and buffers are free again.
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
// RaceChecker
//===----------------------------------------------------------------------===//

namespace {
/// Visits all accesses in program order. Of every cell it keeps the last write
/// and the reads since; if each access is ordered after those it follows, then,
/// one by one, so are all pairs.
class RaceChecker {
public:
  RaceChecker(ScheduleOp schedule, const Execution &execution)
      : schedule(schedule), execution(execution) {}

  FailureOr<ScheduleProof> run();

private:
  static constexpr uint32_t kNone = ~0u;

  /// One access of a vCTA; vCTAs of all tasks are numbered in program order.
  struct Visit {
    uint32_t vcta = kNone, operand = 0;
  };
  struct Cell {
    Visit lastWrite;
    /// Since then: at most one for every stretch of reads in one lane.
    SmallVector<Visit, 1> reads;
  };
  /// Accesses to one buffer.
  struct Buffer {
    Value root;
    std::vector<const OperandAccess *> accesses;
    bool isWritten = false;
  };

  LogicalResult collectAccesses();
  void placeVCTAs();
  LogicalResult checkBuffer(const Buffer &buffer);
  LogicalResult read(const Buffer &buffer, const CellPartition &partition,
                     uint32_t cell, Visit visit);
  LogicalResult write(const Buffer &buffer, const CellPartition &partition,
                      uint32_t cell, Visit visit);
  bool isOrdered(uint32_t before, uint32_t after) const;
  bool isUpdate(Visit visit) const;

  uint32_t getTask(uint32_t vcta) const;
  std::string describe(Visit visit) const;
  LogicalResult reportHazard(StringRef hazard, const Buffer &buffer,
                             const CellPartition &partition, uint32_t cell,
                             Visit before, Visit after);
  LogicalResult reportUnwritten(const Buffer &buffer,
                                const CellPartition &partition, uint32_t cell,
                                Visit visit);
  LogicalResult reportSecondPacket(const CellPartition &partition,
                                   uint32_t cell, Visit first, Visit second);
  Operation *getRun(Visit visit) const;
  void attachOperand(InFlightDiagnostic &diagnostic, Visit visit) const;

  ScheduleOp schedule;
  const Execution &execution;
  SmallVector<TaskOp> tasks;
  /// Number of the first vCTA of every task, then of all.
  std::vector<uint32_t> firstVCTA;
  std::vector<Place> places;
  std::vector<OperandAccess> accesses;
  llvm::MapVector<Value, Buffer> buffers;
  std::vector<Cell> cells;
  ScheduleProof proof;
};
} // namespace

/// Arguments have a value when an iteration begins; the arena has none.
static bool isArena(Value root) {
  return isa_and_nonnull<ArenaOp>(root.getDefiningOp());
}

LogicalResult RaceChecker::collectAccesses() {
  auto program = cast<ProgramOp>(schedule->getParentOp());
  llvm::append_range(tasks, program.getBody().getOps<TaskOp>());
  firstVCTA.push_back(0);
  for (auto [number, task] : llvm::enumerate(tasks)) {
    firstVCTA.push_back(firstVCTA.back() + task.getNumVCTAs());
    for (auto [operand, value] : llvm::enumerate(task.getOperands())) {
      FailureOr<BufferView> view = resolveBufferView(value);
      if (failed(view))
        return failure();
      accesses.push_back({static_cast<unsigned>(number),
                          static_cast<unsigned>(operand),
                          operand >= task.getInputs().size(),
                          task.getRegion(operand), task.getGrid(), *view});
    }
  }
  for (const OperandAccess &access : accesses) {
    Buffer &buffer = buffers[access.view.root];
    buffer.root = access.view.root;
    buffer.accesses.push_back(&access);
    buffer.isWritten |= access.isWrite;
  }
  return success();
}

void RaceChecker::placeVCTAs() {
  llvm::StringMap<uint32_t> numbers;
  for (auto [number, task] : llvm::enumerate(tasks))
    numbers.try_emplace(task.getName(), number);
  places.resize(firstVCTA.back());
  for (auto [number, lane] : llvm::enumerate(execution.getLanes()))
    for (auto [item, op] : llvm::enumerate(lane.items)) {
      auto run = dyn_cast<RunOp>(op);
      if (!run)
        continue;
      Place place = {static_cast<uint32_t>(number), static_cast<uint32_t>(item),
                     execution.getClockNumber(number, item)};
      auto [begin, end] = run.getRangeOn(lane.sm);
      uint32_t first = firstVCTA[numbers.lookup(run.getTask())];
      std::fill(places.begin() + first + begin, places.begin() + first + end,
                place);
    }
}

/// Whether a vCTA has ended before another one begins.
bool RaceChecker::isOrdered(uint32_t before, uint32_t after) const {
  const Place &a = places[before], &b = places[after];
  if (a.lane != b.lane)
    return execution.knows(b.clock, a.lane, a.item);
  // The vCTAs of one run go by their number, which is that of one task.
  return a.item != b.item ? a.item < b.item : before <= after;
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

FailureOr<ScheduleProof> RaceChecker::run() {
  if (failed(collectAccesses()))
    return failure();
  placeVCTAs();
  proof.vctas = places.size();
  for (auto &[root, buffer] : buffers)
    // Nobody writes parameters: nothing to order.
    if ((buffer.isWritten || isArena(root) || isPackets(root)) &&
        failed(checkBuffer(buffer)))
      return failure();
  return proof;
}

/// The boxes that vCTAs of one run have read through one operand. For other
/// lanes a run is a whole, so that reading the same again shows nothing new,
/// even where the run wrote in between.
namespace {
class SeenReads {
public:
  bool contains(const Place &place, CellPartition::Boxes boxes) {
    if (place.lane != lane || place.item != item)
      seen.clear();
    lane = place.lane;
    item = place.item;
    if (llvm::is_contained(seen, boxes))
      return true;
    if (seen.size() == kMost)
      seen.clear();
    seen.push_back(boxes);
    return false;
  }

private:
  static constexpr size_t kMost = 16;
  uint32_t lane = ~0u, item = ~0u;
  SmallVector<CellPartition::Boxes, kMost> seen;
};
} // namespace

LogicalResult RaceChecker::checkBuffer(const Buffer &buffer) {
  CellPartition partition(buffer.accesses);
  cells.assign(partition.getNumCells(), Cell());
  proof.cells += cells.size();
  for (size_t first = 0; first < buffer.accesses.size();) {
    // Accesses of one task stand together, those to inputs first.
    uint32_t task = buffer.accesses[first]->task;
    size_t end = first;
    while (end < buffer.accesses.size() && buffer.accesses[end]->task == task)
      ++end;
    std::vector<SeenReads> seen(end - first);
    for (uint32_t vcta = firstVCTA[task]; vcta < firstVCTA[task + 1]; ++vcta)
      for (size_t number = first; number < end; ++number) {
        const OperandAccess &access = *buffer.accesses[number];
        int64_t index = vcta - firstVCTA[task];
        if (!access.isWrite &&
            seen[number - first].contains(places[vcta],
                                          partition.getBoxes(number, index)))
          continue;
        Visit visit = {vcta, access.operand};
        LogicalResult result = success();
        partition.forEachCell(number, index, [&](uint32_t cell) {
          ++proof.accesses;
          if (failed(result))
            return;
          result = access.isWrite ? write(buffer, partition, cell, visit)
                                  : read(buffer, partition, cell, visit);
        });
        if (failed(result))
          return failure();
      }
    first = end;
  }
  return success();
}

LogicalResult RaceChecker::read(const Buffer &buffer,
                                const CellPartition &partition, uint32_t number,
                                Visit visit) {
  Cell &cell = cells[number];
  // That packets are there when they are read is a matter of the execution.
  if (isPackets(buffer.root) && cell.lastWrite.vcta != kNone)
    return success();
  if (cell.lastWrite.vcta == kNone) {
    if (isArena(buffer.root) || isPackets(buffer.root))
      return reportUnwritten(buffer, partition, number, visit);
  } else if (!isOrdered(cell.lastWrite.vcta, visit.vcta)) {
    return reportHazard("RAW", buffer, partition, number, cell.lastWrite,
                        visit);
  }
  // Of the reads in one lane the last one stands for all.
  if (!cell.reads.empty()) {
    Visit &last = cell.reads.back();
    const Place &a = places[last.vcta], &b = places[visit.vcta];
    if (a.lane == b.lane) {
      if (a.item <= b.item)
        last = visit;
      return success();
    }
  }
  cell.reads.push_back(visit);
  return success();
}

/// Whether a write keeps what it does not overwrite, which is to read it.
bool RaceChecker::isUpdate(Visit visit) const {
  TaskOp task = tasks[getTask(visit.vcta)];
  return task.isUpdated(visit.operand - task.getInputs().size());
}

LogicalResult RaceChecker::write(const Buffer &buffer,
                                 const CellPartition &partition,
                                 uint32_t number, Visit visit) {
  Cell &cell = cells[number];
  // Whoever polls cannot tell two of one iteration apart, in whatever order.
  if (isPackets(buffer.root) && cell.lastWrite.vcta != kNone)
    return reportSecondPacket(partition, number, cell.lastWrite, visit);
  for (Visit read : cell.reads)
    if (!isOrdered(read.vcta, visit.vcta))
      return reportHazard("WAR", buffer, partition, number, read, visit);
  if (cell.lastWrite.vcta != kNone) {
    if (!isOrdered(cell.lastWrite.vcta, visit.vcta))
      return reportHazard("WAW", buffer, partition, number, cell.lastWrite,
                          visit);
  } else if (isArena(buffer.root) && isUpdate(visit)) {
    return reportUnwritten(buffer, partition, number, visit);
  }
  cell.lastWrite = visit;
  cell.reads.clear();
  return success();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

uint32_t RaceChecker::getTask(uint32_t vcta) const {
  return llvm::upper_bound(firstVCTA, vcta) - firstVCTA.begin() - 1;
}

/// `vCTA 3 of 'relu' on SM 1`
std::string RaceChecker::describe(Visit visit) const {
  uint32_t task = getTask(visit.vcta);
  return ("vCTA " + Twine(visit.vcta - firstVCTA[task]) + " of '" +
          TaskOp(tasks[task]).getName() + "' on SM " +
          Twine(execution.getLanes()[places[visit.vcta].lane].sm))
      .str();
}

static std::string describeRoot(Value root) {
  auto argument = dyn_cast<BlockArgument>(root);
  if (!argument)
    return isPackets(root) ? "the packets" : "the arena";
  auto program = cast<ProgramOp>(argument.getOwner()->getParentOp());
  return ("'" + program.getArgumentName(argument.getArgNumber()) + "'").str();
}

static std::string describeBytes(std::pair<int64_t, int64_t> bytes) {
  return ("bytes [" + Twine(bytes.first) + ", " + Twine(bytes.second) + ")")
      .str();
}

Operation *RaceChecker::getRun(Visit visit) const {
  const Place &place = places[visit.vcta];
  return execution.getLanes()[place.lane].items[place.item];
}

void RaceChecker::attachOperand(InFlightDiagnostic &diagnostic,
                                Visit visit) const {
  TaskOp task = tasks[getTask(visit.vcta)];
  diagnostic.attachNote(task.getLoc())
      << "operand " << visit.operand << " of '" << task.getName()
      << "', region " << task.getRegion(visit.operand);
}

LogicalResult RaceChecker::reportHazard(StringRef hazard, const Buffer &buffer,
                                        const CellPartition &partition,
                                        uint32_t cell, Visit before,
                                        Visit after) {
  bool reversed = isOrdered(after.vcta, before.vcta);
  InFlightDiagnostic diagnostic =
      getRun(after)->emitOpError(hazard)
      << " hazard: " << describe(after)
      << (hazard == "RAW" ? " reads " : " writes ")
      << describeBytes(partition.getBytes(cell)) << " of "
      << describeRoot(buffer.root)
      << (reversed ? " before " : " without waiting for ") << describe(before)
      << (hazard == "WAR" ? ", which reads them" : ", which writes them")
      << (reversed ? " and comes first in the program" : "");
  attachOperand(diagnostic, before);
  if (getTask(before.vcta) != getTask(after.vcta) ||
      before.operand != after.operand)
    attachOperand(diagnostic, after);
  if (!partition.isExact())
    diagnostic.attachNote(buffer.root.getLoc())
        << "regions of this buffer are too scattered to be compared byte by "
           "byte; there may be no hazard";
  return diagnostic;
}

LogicalResult RaceChecker::reportUnwritten(const Buffer &buffer,
                                           const CellPartition &partition,
                                           uint32_t cell, Visit visit) {
  InFlightDiagnostic diagnostic =
      getRun(visit)->emitOpError()
      << describe(visit) << " reads " << describeBytes(partition.getBytes(cell))
      << " of " << describeRoot(buffer.root) << ", which no task has written";
  attachOperand(diagnostic, visit);
  return diagnostic;
}

LogicalResult RaceChecker::reportSecondPacket(const CellPartition &partition,
                                              uint32_t cell, Visit first,
                                              Visit second) {
  InFlightDiagnostic diagnostic =
      getRun(second)->emitOpError()
      << describe(second) << " writes "
      << describeBytes(partition.getBytes(cell)) << " of the packets, which "
      << describe(first) << " writes in the same iteration";
  attachOperand(diagnostic, first);
  attachOperand(diagnostic, second);
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

FailureOr<ScheduleProof> mlir::ark::checkSchedule(ScheduleOp schedule) {
  Execution execution(schedule);
  // Ends: otherwise there are no clocks to compare.
  if (failed(execution.run()) ||
      failed(checkFinalBarrier(execution.getLanes())) ||
      failed(checkPackets(schedule, execution.getLanes())))
    return failure();
  return RaceChecker(schedule, execution).run();
}
