//===- CheckerRaces.cpp - Order of all accesses to buffers ----------------===//

#include "lib/proof/CheckerRaces.h"
#include "lib/proof/CheckerGroups.h"
#include "lib/proof/CheckerHazards.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

/// Returns true for buffers that have no value when an iteration begins: the
/// arena and the outputs. Other arguments have values then.
static bool beginsWithoutValue(Value root) {
  if (isa_and_nonnull<ArenaOp>(root.getDefiningOp()))
    return true;
  auto argument = dyn_cast<BlockArgument>(root);
  auto program = argument
                     ? dyn_cast<ProgramOp>(argument.getOwner()->getParentOp())
                     : ProgramOp();
  return program && program.getArgumentKind(argument.getArgNumber()) ==
                        ArgumentKind::Output;
}

//===----------------------------------------------------------------------===//
// Reads that repeat
//===----------------------------------------------------------------------===//

namespace {
/// The boxes that vCTAs of one work item have read through one operand. A
/// repeated read adds no information: other lanes are ordered with a work item
/// as a whole, and no vCTA of the same task writes these boxes.
class SeenReads {
public:
  bool contains(uint32_t lane, uint32_t item, CellPartition::Boxes boxes) {
    if (this->lane != lane || this->item != item)
      seen.clear();
    this->lane = lane;
    this->item = item;
    if (llvm::is_contained(seen, boxes))
      return true;
    if (seen.size() == kMaxBoxes)
      seen.clear();
    seen.push_back(boxes);
    return false;
  }

private:
  static constexpr size_t kMaxBoxes = 16;
  uint32_t lane = ~0u, item = ~0u;
  SmallVector<CellPartition::Boxes, kMaxBoxes> seen;
};
} // namespace

/// Returns true if a task writes, through any operand, between the first and
/// the last byte that it reads through `read`.
static bool isWrittenByItsTask(const OperandAccess &read,
                               ArrayRef<const OperandAccess *> ofTask) {
  return llvm::any_of(ofTask, [&](const OperandAccess *other) {
    return other->isWrite && shareBytes(*other, read);
  });
}

//===----------------------------------------------------------------------===//
// CellChecker
//===----------------------------------------------------------------------===//

namespace {
/// Visits the accesses to some buffer in program order. For every cell the
/// class keeps the last write and the reads after it. If each access is ordered
/// after the kept accesses, all pairs are ordered, by induction.
class CellChecker {
public:
  CellChecker(const CheckedSchedule &schedule, const AccessGroup &group);

  /// Returns the first hazard, if there is any.
  std::optional<Hazard> findHazard();
  const CellPartition &getPartition() const { return partition; }
  int64_t getNumVisits() const { return numVisits; }

private:
  struct Cell {
    Visit lastWrite;
    /// The reads since the last write. Consecutive reads of one lane are
    /// represented by at most two: those by the first and the last vCTA of the
    /// last work item.
    SmallVector<Visit, 1> reads;
  };

  std::optional<Hazard> visitTask(size_t first, size_t end);
  std::optional<HazardKind> read(Cell &cell, Visit visit, bool isWritten);
  std::optional<HazardKind> write(Cell &cell, Visit visit, bool isWritten,
                                  Visit &before);
  void addRead(Cell &cell, Visit visit) const;
  bool isUpdate(Visit visit) const;
  bool isOverlap(Visit before, Visit after) const;

  const CheckedSchedule &schedule;
  const VCTAOrder &order;
  const AccessGroup &group;
  bool isWithoutValue, isOfPackets;
  CellPartition partition;
  std::vector<Cell> cells;
  /// The first vCTA of the task whose accesses are visited.
  uint32_t firstOfTask = 0;
  int64_t numVisits = 0;
};
} // namespace

CellChecker::CellChecker(const CheckedSchedule &schedule,
                         const AccessGroup &group)
    : schedule(schedule), order(schedule.order), group(group),
      isWithoutValue(beginsWithoutValue(group.buffer.root)),
      isOfPackets(isPackets(group.buffer.root)),
      partition(group.buffer.accesses), cells(partition.getNumCells()) {}

std::optional<Hazard> CellChecker::findHazard() {
  const auto &accesses = group.buffer.accesses;
  for (size_t first = 0; first < accesses.size();) {
    // Accesses of one task are adjacent; accesses to inputs come first.
    size_t end = first;
    while (end < accesses.size() &&
           accesses[end]->task == accesses[first]->task)
      ++end;
    if (std::optional<Hazard> hazard = visitTask(first, end))
      return hazard;
    first = end;
  }
  return std::nullopt;
}

/// Visits the accesses `[first, end)`, which belong to one task.
std::optional<Hazard> CellChecker::visitTask(size_t first, size_t end) {
  auto ofTask = ArrayRef(group.buffer.accesses).slice(first, end - first);
  uint32_t task = ofTask.front()->task;
  firstOfTask = schedule.program.getFirstVCTA(task);
  std::vector<SeenReads> seen(end - first);
  auto mayRepeat =
      llvm::map_to_vector(ofTask, [&](const OperandAccess *access) {
        return !access->isWrite && !isWrittenByItsTask(*access, ofTask);
      });
  std::optional<Hazard> hazard;
  for (uint32_t vcta = firstOfTask;
       vcta < schedule.program.getFirstVCTA(task + 1); ++vcta)
    for (size_t accessIndex = first; accessIndex < end; ++accessIndex) {
      const OperandAccess &access = *group.buffer.accesses[accessIndex];
      int64_t index = vcta - firstOfTask;
      // Reads of packets need no order, so all vCTAs of the task count as one
      // work item.
      Position at = isOfPackets ? Position() : order.getPosition(vcta);
      if (mayRepeat[accessIndex - first] &&
          seen[accessIndex - first].contains(
              at.lane, at.item, partition.getBoxes(accessIndex, index)))
        continue;
      Visit visit = {vcta, access.operand};
      bool isWritten = group.isWrittenBefore[accessIndex];
      partition.forEachCell(accessIndex, index, [&](uint32_t cell) {
        ++numVisits;
        if (hazard)
          return;
        Visit before = cells[cell].lastWrite;
        std::optional<HazardKind> kind =
            access.isWrite ? write(cells[cell], visit, isWritten, before)
                           : read(cells[cell], visit, isWritten);
        if (kind)
          hazard = Hazard{*kind, cell, before, visit};
      });
      if (hazard)
        return hazard;
    }
  return std::nullopt;
}

std::optional<HazardKind> CellChecker::read(Cell &cell, Visit visit,
                                            bool isWritten) {
  if (!cell.lastWrite) {
    if (!isWritten)
      return HazardKind::Unwritten;
  } else if (isOfPackets) {
    // The execution has shown that packets have arrived when they are read.
    // Each word has its own epoch, and offsets are multiples of the size of
    // words.
    if (schedule.getElementBytes(cell.lastWrite) !=
        schedule.getElementBytes(visit))
      return HazardKind::OtherWords;
    return std::nullopt;
  } else if (!order.isOrdered(cell.lastWrite.vcta, visit.vcta)) {
    return HazardKind::ReadAfterWrite;
  }
  addRead(cell, visit);
  return std::nullopt;
}

/// Adds a read to a cell. The last work item of a lane that reads the cell
/// represents all earlier work items of the lane. The first and the last
/// reading vCTA represent all vCTAs of that work item: a writing vCTA of the
/// work item differs from one of these two vCTAs, or is the only reader.
void CellChecker::addRead(Cell &cell, Visit visit) const {
  if (cell.reads.empty()) {
    cell.reads.push_back(visit);
    return;
  }
  const Position &last = order.getPosition(cell.reads.back().vcta);
  const Position &position = order.getPosition(visit.vcta);
  if (last.lane != position.lane) {
    cell.reads.push_back(visit);
  } else if (last.item == position.item) {
    size_t count = cell.reads.size();
    bool hasFirst = count > 1 && order.areInOneWorkItem(
                                     cell.reads[count - 2].vcta, visit.vcta);
    if (hasFirst)
      cell.reads.back() = visit;
    else if (cell.reads.back().vcta != visit.vcta)
      cell.reads.push_back(visit);
  } else if (last.item < position.item) {
    while (!cell.reads.empty() &&
           order.getPosition(cell.reads.back().vcta).isInWorkItemOf(last))
      cell.reads.pop_back();
    cell.reads.push_back(visit);
  }
}

/// Returns true if a write keeps the elements that it does not overwrite. To
/// keep an element is to read it.
bool CellChecker::isUpdate(Visit visit) const {
  TaskOp task = schedule.getTask(visit.vcta);
  return task.isUpdated(visit.operand - task.getInputs().size());
}

/// task_c6: returns true if two vCTAs of the visited task write the same bytes
/// without updating them in place.
bool CellChecker::isOverlap(Visit before, Visit after) const {
  return before.vcta != after.vcta && before.vcta >= firstOfTask &&
         !(isUpdate(before) && isUpdate(after));
}

/// Sets `before` to a read that the write violates.
std::optional<HazardKind> CellChecker::write(Cell &cell, Visit visit,
                                             bool isWritten, Visit &before) {
  // A polling reader cannot distinguish two packets of one iteration, in any
  // order.
  if (isOfPackets && cell.lastWrite)
    return HazardKind::SecondPacket;
  if (cell.lastWrite && isOverlap(cell.lastWrite, visit))
    return HazardKind::Overlap;
  for (Visit read : cell.reads)
    if (!order.isOrdered(read.vcta, visit.vcta)) {
      before = read;
      return HazardKind::WriteAfterRead;
    }
  if (cell.lastWrite) {
    if (!order.isOrdered(cell.lastWrite.vcta, visit.vcta))
      return HazardKind::WriteAfterWrite;
  } else if (!isWritten && isWithoutValue && isUpdate(visit)) {
    return HazardKind::Unwritten;
  }
  cell.lastWrite = visit;
  cell.reads.clear();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// RaceChecker
//===----------------------------------------------------------------------===//

namespace {
/// Checks each group of bytes of a buffer in two steps. The first step compares
/// whole tasks. The second step compares cell by cell the accesses that the
/// order of tasks leaves open.
class RaceChecker {
public:
  RaceChecker(const CheckedSchedule &schedule, const TaskOrder &taskOrder)
      : schedule(schedule), taskOrder(taskOrder) {}

  LogicalResult checkBuffer(const BufferAccesses &buffer);
  const ScheduleProof &getProof() const { return proof; }

private:
  bool isProvenByGroups(const BufferAccesses &part);
  LogicalResult checkCells(const BufferAccesses &part);
  std::optional<Hazard> findHazard(CellChecker &checker);

  const CheckedSchedule &schedule;
  const TaskOrder &taskOrder;
  ScheduleProof proof;
};
} // namespace

LogicalResult RaceChecker::checkBuffer(const BufferAccesses &buffer) {
  // Buffers that no task writes, such as parameters, need no order.
  if (!buffer.isWritten && !beginsWithoutValue(buffer.root) &&
      !isPackets(buffer.root))
    return success();
  for (const BufferAccesses &part : divideByBytes(buffer))
    // If the check by groups finds a hazard, the check of all cells decides,
    // because its cells give the error message.
    if (!isProvenByGroups(part) && failed(checkCells(part)))
      return failure();
  return success();
}

std::optional<Hazard> RaceChecker::findHazard(CellChecker &checker) {
  proof.cells += checker.getPartition().getNumCells();
  std::optional<Hazard> hazard = checker.findHazard();
  proof.accesses += checker.getNumVisits();
  return hazard;
}

bool RaceChecker::isProvenByGroups(const BufferAccesses &part) {
  // The order of tasks proves nothing about packets: a reader polls each word.
  if (isPackets(part.root))
    return false;
  for (const AccessGroup &group :
       divideByTasks(part, taskOrder, schedule.program.getTasks(),
                     /*mustBeWritten=*/beginsWithoutValue(part.root))) {
    CellChecker checker(schedule, group);
    if (findHazard(checker))
      return false;
  }
  return true;
}

LogicalResult RaceChecker::checkCells(const BufferAccesses &part) {
  bool hasValues = !beginsWithoutValue(part.root) && !isPackets(part.root);
  AccessGroup all = {part, std::vector<bool>(part.accesses.size(), hasValues)};
  CellChecker checker(schedule, all);
  std::optional<Hazard> hazard = findHazard(checker);
  return hazard ? reportHazard(*hazard, schedule, part, checker.getPartition())
                : success();
}

FailureOr<ScheduleProof> checker::checkRaces(const ProgramAccesses &program,
                                             ArrayRef<Lane> lanes,
                                             ArrayRef<Item> items,
                                             const Execution &execution) {
  VCTAOrder order(items, execution);
  TaskOrder taskOrder(program, lanes, order, execution);
  CheckedSchedule schedule = {program, lanes, order};
  RaceChecker checker(schedule, taskOrder);
  for (const BufferAccesses &buffer : program.getBuffers())
    if (failed(checker.checkBuffer(buffer)))
      return failure();
  ScheduleProof proof = checker.getProof();
  proof.vctas = order.getNumVCTAs();
  return proof;
}
