//===- ScheduleChecker.cpp - The proof of a schedule ----------------------===//

#include "lib/proof/ScheduleChecker.h"
#include "lib/proof/CheckerCells.h"
#include "lib/proof/CheckerExecution.h"
#include "lib/proof/CheckerPackets.h"
#include "lib/proof/CheckerRanks.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

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
// RaceChecker
//===----------------------------------------------------------------------===//

namespace {
/// Visits all accesses in program order. For every cell the class keeps the
/// last write and the reads after it. If each access is ordered after the kept
/// accesses, all pairs are ordered, by induction.
class RaceChecker {
public:
  RaceChecker(const ProgramAccesses &program, ArrayRef<Lane> lanes,
              ArrayRef<Item> items, const Execution &execution);

  FailureOr<ScheduleProof> run();

private:
  static constexpr uint32_t kNone = ~0u;

  /// One access of a vCTA. The vCTAs of all tasks are numbered in program
  /// order.
  struct Visit {
    uint32_t vcta = kNone, operand = 0;
  };
  struct Cell {
    Visit lastWrite;
    /// The reads since the last write: at most two for consecutive reads of one
    /// lane, the first and the last vCTA of the last run.
    SmallVector<Visit, 1> reads;
  };
  /// The item that runs a vCTA, and the number of the clock at that item.
  struct Position {
    uint32_t lane = 0, item = 0, clock = 0;

    bool isInRunOf(const Position &other) const {
      return lane == other.lane && item == other.item;
    }
  };
  using Buffer = BufferAccesses;

  LogicalResult checkBuffer(const Buffer &buffer);
  LogicalResult checkTask(const Buffer &buffer, const CellPartition &partition,
                          size_t first, size_t end);
  LogicalResult read(const Buffer &buffer, const CellPartition &partition,
                     uint32_t cell, Visit visit);
  LogicalResult write(const Buffer &buffer, const CellPartition &partition,
                      uint32_t cell, Visit visit);
  LogicalResult checkWords(const CellPartition &partition, uint32_t cell,
                           Visit sender, Visit receiver);
  void addRead(Cell &cell, Visit visit) const;
  bool isOrdered(uint32_t before, uint32_t after) const;
  bool isUpdate(Visit visit) const;
  bool isOverlap(Visit before, Visit after) const;

  unsigned getTask(uint32_t vcta) const { return program.getTaskOf(vcta); }
  TaskOp getTaskOp(uint32_t vcta) const {
    return program.getTasks()[getTask(vcta)];
  }
  int64_t getElementBytes(Visit visit) const {
    Type type = getTaskOp(visit.vcta)->getOperand(visit.operand).getType();
    return ark::getElementBytes(cast<ShapedType>(type).getElementType());
  }
  std::string describe(Visit visit) const;
  LogicalResult reportHazard(StringRef hazard, const Buffer &buffer,
                             const CellPartition &partition, uint32_t cell,
                             Visit before, Visit after);
  LogicalResult reportUnwritten(const Buffer &buffer,
                                const CellPartition &partition, uint32_t cell,
                                Visit visit);
  LogicalResult reportWords(const CellPartition &partition, uint32_t cell,
                            Visit sender, Visit receiver);
  LogicalResult reportSecondPacket(const CellPartition &partition,
                                   uint32_t cell, Visit first, Visit second);
  LogicalResult reportOverlap(const Buffer &buffer,
                              const CellPartition &partition, uint32_t cell,
                              Visit first, Visit second);
  Operation *getRun(Visit visit) const;
  void attachOperand(InFlightDiagnostic &diagnostic, Visit visit) const;
  void attachInexact(InFlightDiagnostic &diagnostic, const Buffer &buffer,
                     const CellPartition &partition) const;

  const ProgramAccesses &program;
  ArrayRef<Lane> lanes;
  const Execution &execution;
  /// The kind of the buffer that is checked.
  bool isOfArena = false, isOfPackets = false;
  /// The first vCTA of the task whose accesses are visited.
  uint32_t firstOfTask = 0;
  /// The item that runs each vCTA.
  std::vector<Position> positions;
  std::vector<Cell> cells;
  ScheduleProof proof;
};
} // namespace

/// Returns true for the arena, which has no value when an iteration begins.
/// Arguments have values then.
static bool isArena(Value root) {
  return isa_and_nonnull<ArenaOp>(root.getDefiningOp());
}

RaceChecker::RaceChecker(const ProgramAccesses &program, ArrayRef<Lane> lanes,
                         ArrayRef<Item> items, const Execution &execution)
    : program(program), lanes(lanes), execution(execution) {
  positions.reserve(items.size());
  for (Item item : items) {
    bool isSame = !positions.empty() && positions.back().lane == item.lane &&
                  positions.back().item == item.item;
    uint32_t clock = isSame ? positions.back().clock
                            : execution.getClockNumber(item.lane, item.item);
    positions.push_back({item.lane, item.item, clock});
  }
}

/// Returns true if a vCTA ends before another vCTA begins. The vCTAs of one run
/// have no order: a target may execute them concurrently.
bool RaceChecker::isOrdered(uint32_t before, uint32_t after) const {
  const Position &a = positions[before], &b = positions[after];
  if (a.lane != b.lane)
    return execution.knows(b.clock, a.lane, a.item);
  return a.item != b.item ? a.item < b.item : before == after;
}

//===----------------------------------------------------------------------===//
// Visits
//===----------------------------------------------------------------------===//

FailureOr<ScheduleProof> RaceChecker::run() {
  proof.vctas = positions.size();
  for (const Buffer &buffer : program.getBuffers())
    // Buffers that no task writes, such as parameters, need no order.
    if (buffer.isWritten || isArena(buffer.root) || isPackets(buffer.root))
      for (const Buffer &part : divideByBytes(buffer))
        if (failed(checkBuffer(part)))
          return failure();
  return proof;
}

/// The boxes that vCTAs of one run have read through one operand. A repeated
/// read adds no information: other lanes are ordered with a run as a whole, and
/// no vCTA of the same task writes these boxes.
namespace {
class SeenReads {
public:
  bool contains(uint32_t lane, uint32_t item, CellPartition::Boxes boxes) {
    if (this->lane != lane || this->item != item)
      seen.clear();
    this->lane = lane;
    this->item = item;
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

/// Returns true if a task writes, through any operand, between the first and
/// the last byte that it reads through `read`.
static bool isWrittenByItsTask(const OperandAccess &read,
                               ArrayRef<const OperandAccess *> ofTask) {
  return llvm::any_of(ofTask, [&](const OperandAccess *other) {
    return other->isWrite && other->view.byteOffset < read.view.getByteEnd() &&
           read.view.byteOffset < other->view.getByteEnd();
  });
}

LogicalResult RaceChecker::checkBuffer(const Buffer &buffer) {
  isOfArena = isArena(buffer.root);
  isOfPackets = isPackets(buffer.root);
  CellPartition partition(buffer.accesses);
  cells.assign(partition.getNumCells(), Cell());
  proof.cells += cells.size();
  for (size_t first = 0; first < buffer.accesses.size();) {
    // Accesses of one task are adjacent; accesses to inputs come first.
    uint32_t task = buffer.accesses[first]->task;
    size_t end = first;
    while (end < buffer.accesses.size() && buffer.accesses[end]->task == task)
      ++end;
    if (failed(checkTask(buffer, partition, first, end)))
      return failure();
    first = end;
  }
  return success();
}

/// Visits the accesses `[first, end)`, which belong to one task.
LogicalResult RaceChecker::checkTask(const Buffer &buffer,
                                     const CellPartition &partition,
                                     size_t first, size_t end) {
  auto ofTask = ArrayRef(buffer.accesses).slice(first, end - first);
  uint32_t task = ofTask.front()->task;
  firstOfTask = program.getFirstVCTA(task);
  std::vector<SeenReads> seen(end - first);
  auto mayRepeat =
      llvm::map_to_vector(ofTask, [&](const OperandAccess *access) {
        return !access->isWrite && !isWrittenByItsTask(*access, ofTask);
      });
  for (uint32_t vcta = firstOfTask; vcta < program.getFirstVCTA(task + 1);
       ++vcta)
    for (size_t number = first; number < end; ++number) {
      const OperandAccess &access = *buffer.accesses[number];
      int64_t index = vcta - firstOfTask;
      // Reads of packets need no order, so all runs of the task count as one.
      Position at = isOfPackets ? Position() : positions[vcta];
      if (mayRepeat[number - first] &&
          seen[number - first].contains(at.lane, at.item,
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
  return success();
}

LogicalResult RaceChecker::read(const Buffer &buffer,
                                const CellPartition &partition, uint32_t number,
                                Visit visit) {
  Cell &cell = cells[number];
  // The execution has shown that packets have arrived when they are read.
  if (isOfPackets && cell.lastWrite.vcta != kNone)
    return checkWords(partition, number, cell.lastWrite, visit);
  if (cell.lastWrite.vcta == kNone) {
    if (isOfArena || isOfPackets)
      return reportUnwritten(buffer, partition, number, visit);
  } else if (!isOrdered(cell.lastWrite.vcta, visit.vcta)) {
    return reportHazard("RAW", buffer, partition, number, cell.lastWrite,
                        visit);
  }
  addRead(cell, visit);
  return success();
}

/// Checks that packets are received in the words in which they were sent. Each
/// word has its own epoch, and offsets are multiples of the size of words.
LogicalResult RaceChecker::checkWords(const CellPartition &partition,
                                      uint32_t cell, Visit sender,
                                      Visit receiver) {
  return getElementBytes(sender) == getElementBytes(receiver)
             ? success()
             : reportWords(partition, cell, sender, receiver);
}

/// Adds a read to a cell. The last run of a lane that reads the cell represents
/// all earlier runs of the lane. The first and the last reading vCTA represent
/// all vCTAs of that run: a writing vCTA of the run differs from one of the
/// two, or is the only reader.
void RaceChecker::addRead(Cell &cell, Visit visit) const {
  if (cell.reads.empty()) {
    cell.reads.push_back(visit);
    return;
  }
  const Position &last = positions[cell.reads.back().vcta];
  const Position &position = positions[visit.vcta];
  if (last.lane != position.lane) {
    cell.reads.push_back(visit);
  } else if (last.item == position.item) {
    size_t count = cell.reads.size();
    bool hasFirst =
        count > 1 && positions[cell.reads[count - 2].vcta].isInRunOf(position);
    if (hasFirst)
      cell.reads.back() = visit;
    else if (cell.reads.back().vcta != visit.vcta)
      cell.reads.push_back(visit);
  } else if (last.item < position.item) {
    while (!cell.reads.empty() &&
           positions[cell.reads.back().vcta].isInRunOf(last))
      cell.reads.pop_back();
    cell.reads.push_back(visit);
  }
}

/// Returns true if a write keeps the elements that it does not overwrite. To
/// keep an element is to read it.
bool RaceChecker::isUpdate(Visit visit) const {
  TaskOp task = getTaskOp(visit.vcta);
  return task.isUpdated(visit.operand - task.getInputs().size());
}

/// task_c6: returns true if two vCTAs of the visited task write the same bytes
/// without updating them in place.
bool RaceChecker::isOverlap(Visit before, Visit after) const {
  return before.vcta != after.vcta && before.vcta >= firstOfTask &&
         !(isUpdate(before) && isUpdate(after));
}

LogicalResult RaceChecker::write(const Buffer &buffer,
                                 const CellPartition &partition,
                                 uint32_t number, Visit visit) {
  Cell &cell = cells[number];
  // A polling reader cannot distinguish two packets of one iteration, whatever
  // their order.
  if (isOfPackets && cell.lastWrite.vcta != kNone)
    return reportSecondPacket(partition, number, cell.lastWrite, visit);
  if (cell.lastWrite.vcta != kNone && isOverlap(cell.lastWrite, visit))
    return reportOverlap(buffer, partition, number, cell.lastWrite, visit);
  for (Visit read : cell.reads)
    if (!isOrdered(read.vcta, visit.vcta))
      return reportHazard("WAR", buffer, partition, number, read, visit);
  if (cell.lastWrite.vcta != kNone) {
    if (!isOrdered(cell.lastWrite.vcta, visit.vcta))
      return reportHazard("WAW", buffer, partition, number, cell.lastWrite,
                          visit);
  } else if (isOfArena && isUpdate(visit)) {
    return reportUnwritten(buffer, partition, number, visit);
  }
  cell.lastWrite = visit;
  cell.reads.clear();
  return success();
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Returns text such as `vCTA 3 of 'relu' on SM 1`.
std::string RaceChecker::describe(Visit visit) const {
  unsigned task = getTask(visit.vcta);
  return ("vCTA " + Twine(visit.vcta - program.getFirstVCTA(task)) + " of '" +
          getTaskOp(visit.vcta).getName() + "' on SM " +
          Twine(lanes[positions[visit.vcta].lane].sm))
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
  const Position &position = positions[visit.vcta];
  return lanes[position.lane].items[position.item];
}

void RaceChecker::attachOperand(InFlightDiagnostic &diagnostic,
                                Visit visit) const {
  TaskOp task = getTaskOp(visit.vcta);
  diagnostic.attachNote(task.getLoc())
      << "operand " << visit.operand << " of '" << task.getName()
      << "', region " << task.getRegion(visit.operand);
}

LogicalResult RaceChecker::reportHazard(StringRef hazard, const Buffer &buffer,
                                        const CellPartition &partition,
                                        uint32_t cell, Visit before,
                                        Visit after) {
  bool inOneRun = positions[before.vcta].isInRunOf(positions[after.vcta]);
  StringRef order = inOneRun ? " in the same work item as "
                    : isOrdered(after.vcta, before.vcta)
                        ? " before "
                        : " without waiting for ";
  InFlightDiagnostic diagnostic =
      getRun(after)->emitOpError(hazard)
      << " hazard: " << describe(after)
      << (hazard == "RAW" ? " reads " : " writes ")
      << describeBytes(partition.getBytes(cell)) << " of "
      << describeRoot(buffer.root) << order << describe(before)
      << (hazard == "WAR" ? ", which reads them" : ", which writes them");
  if (order == " before ")
    diagnostic << " and comes first in the program";
  attachOperand(diagnostic, before);
  if (getTask(before.vcta) != getTask(after.vcta) ||
      before.operand != after.operand)
    attachOperand(diagnostic, after);
  if (inOneRun)
    diagnostic.attachNote(getRun(after)->getLoc())
        << "vCTAs of one work item have no order; work items of a lane do";
  attachInexact(diagnostic, buffer, partition);
  return diagnostic;
}

/// Notes that an error may come from the limits of the checker alone.
void RaceChecker::attachInexact(InFlightDiagnostic &diagnostic,
                                const Buffer &buffer,
                                const CellPartition &partition) const {
  if (!partition.isExact())
    diagnostic.attachNote(buffer.root.getLoc())
        << "regions of this buffer are too scattered to be compared byte by "
           "byte; there may be no hazard";
}

LogicalResult RaceChecker::reportOverlap(const Buffer &buffer,
                                         const CellPartition &partition,
                                         uint32_t cell, Visit first,
                                         Visit second) {
  InFlightDiagnostic diagnostic =
      getTaskOp(second.vcta).emitOpError()
      << describe(second) << " writes "
      << describeBytes(partition.getBytes(cell)) << " of "
      << describeRoot(buffer.root) << ", which " << describe(first)
      << " writes; only a task that updates them in place may (task_c6)";
  attachOperand(diagnostic, first);
  if (first.operand != second.operand)
    attachOperand(diagnostic, second);
  attachInexact(diagnostic, buffer, partition);
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

LogicalResult RaceChecker::reportWords(const CellPartition &partition,
                                       uint32_t cell, Visit sender,
                                       Visit receiver) {
  InFlightDiagnostic diagnostic =
      getRun(receiver)->emitOpError()
      << describe(receiver) << " reads "
      << describeBytes(partition.getBytes(cell)) << " of the packets as words "
      << "of " << getElementBytes(receiver) << " bytes, which "
      << describe(sender) << " writes as words of " << getElementBytes(sender)
      << " bytes";
  attachOperand(diagnostic, sender);
  attachOperand(diagnostic, receiver);
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
  ProgramAccesses program(cast<ProgramOp>(schedule->getParentOp()));
  if (failed(program.collect()))
    return failure();
  Lanes lanes(schedule);
  std::vector<Item> items = findPositions(program, lanes);
  Execution execution(schedule, program, lanes, items);
  // All lanes must end first: otherwise there are no clocks to compare.
  if (failed(execution.run()) || failed(checkFinalBarrier(lanes)) ||
      failed(checkPackets(schedule, program, lanes)) ||
      failed(checkRanks(schedule, program, lanes, items)))
    return failure();
  return RaceChecker(program, lanes, items, execution).run();
}
