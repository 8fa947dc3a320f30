//===- CheckTables.cpp - Consistency of the tables of a bundle ------------===//

#include "lib/validation/DecodeTables.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::validation;

namespace {
class TableChecker {
public:
  TableChecker(const Tables &tables, const Manifest &manifest, Location loc)
      : tables(tables), manifest(manifest), loc(loc) {}

  LogicalResult check() {
    return failure(failed(checkOperands()) || failed(checkLanes()) ||
                   failed(checkHandoffs()) || failed(checkStop()) ||
                   failed(checkRanks()));
  }

private:
  /// Offsets of the first and the last word.
  using Words = std::pair<int64_t, int64_t>;

  InFlightDiagnostic fail(StringRef table, size_t entry) {
    return emitError(loc) << table << "[" << entry << "]: ";
  }
  LogicalResult checkOperands();
  LogicalResult checkOperand(size_t task, size_t index);
  StringRef findProblem(const OperandRecord &operand, OperandEntry entry,
                        const ValueRecord &value) const;
  LogicalResult checkLanes();
  LogicalResult checkHandoffs();
  LogicalResult checkHandoff(size_t semaphore, ArrayRef<size_t> items,
                             ArrayRef<Words> sent);
  std::optional<Words> getWords(int64_t task) const;
  std::optional<int64_t> findLastWriter(int64_t slot) const;
  LogicalResult checkStop();
  std::optional<int64_t> getRank(StringRef name) const;
  LogicalResult checkWorkItem(size_t item, int64_t rank);
  LogicalResult checkRanks();

  const Tables &tables;
  const Manifest &manifest;
  Location loc;
};
} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Returns a problem with the slot or offset of an operand, or an empty string.
StringRef TableChecker::findProblem(const OperandRecord &operand,
                                    OperandEntry entry,
                                    const ValueRecord &value) const {
  if (entry.slot != value.slot || entry.offset != value.offset + operand.begin)
    return "is not at the slot and offset of its value";
  if (operand.begin + operand.getSpan() > value.bytes)
    return "leaves its value";
  if (entry.offset % operand.alignment || entry.offset % operand.elementBytes)
    return "is not aligned";
  bool isArgument = entry.slot >= 1 &&
                    entry.slot <= static_cast<int64_t>(manifest.buffers.size());
  if (operand.access == Access::Read || !isArgument)
    return "";
  ArgumentKind kind = manifest.buffers[entry.slot - 1].kind;
  return kind == ArgumentKind::State || kind == ArgumentKind::Output
             ? ""
             : "writes a buffer that no task may write";
}

LogicalResult TableChecker::checkOperand(size_t task, size_t index) {
  const TaskRecord &record = manifest.tasks[task];
  size_t entry = tables.tasks[task].second + index;
  StringRef problem =
      findProblem(manifest.getFootprint(record)[index], tables.operands[entry],
                  manifest.values[record.values[index]]);
  if (problem.empty())
    return success();
  return fail("operands", entry)
         << "operand " << index << " of '" << record.name << "' " << problem;
}

LogicalResult TableChecker::checkOperands() {
  for (auto [task, record] : llvm::enumerate(manifest.tasks))
    for (size_t index = 0; index < record.values.size(); ++index)
      if (failed(checkOperand(task, index)))
        return failure();
  return success();
}

/// Checks that every lane of an SM can have a separate warp.
LogicalResult TableChecker::checkLanes() {
  DenseMap<int64_t, int64_t> lanesOfSm;
  for (auto [entry, lane] : llvm::enumerate(tables.lanes))
    if (++lanesOfSm[lane.sm] > manifest.warps)
      return fail("lanes", entry) << "SM " << lane.sm << " has more lanes than "
                                  << "its " << manifest.warps << " warps";
  return success();
}

//===----------------------------------------------------------------------===//
// Waits on packets of other ranks
//===----------------------------------------------------------------------===//

/// Returns the rank packets of a task: the words of its only write.
std::optional<TableChecker::Words> TableChecker::getWords(int64_t task) const {
  const TaskRecord &record = manifest.tasks[task];
  if (!manifest.bodies[record.body].stamps)
    return std::nullopt;
  for (auto [index, operand] : llvm::enumerate(manifest.getFootprint(record))) {
    if (operand.access == Access::Read)
      continue;
    OperandEntry entry = tables.operands[tables.tasks[task].second + index];
    if (entry.slot == 0 && operand.getSpan() >= operand.elementBytes)
      return Words(entry.offset,
                   entry.offset + operand.getSpan() - operand.elementBytes);
    return std::nullopt;
  }
  return std::nullopt;
}

/// Checks that all signals and waits of a semaphore use its counter, or that
/// all use packets. With packets, every wait must poll exactly the words that
/// are sent before the signals.
LogicalResult TableChecker::checkHandoff(size_t semaphore,
                                         ArrayRef<size_t> items,
                                         ArrayRef<Words> sent) {
  auto looks = [&](size_t item) { return tables.instructions[item].c != 0; };
  if (llvm::none_of(items, looks))
    return success();
  const SemaphoreRecord &record = manifest.semaphores[semaphore];
  if (record.handoff != HandoffKind::Packet || manifest.backend != kCpuBackend)
    return fail("instructions", *llvm::find_if(items, looks))
           << "semaphore '" << record.name << "' has a counter and no packets";
  for (size_t item : items) {
    const Instruction &entry = tables.instructions[item];
    if (!looks(item))
      return fail("instructions", item)
             << "semaphore '" << record.name
             << "' has rank packets at other instructions, but not here";
    if (entry.opcode != Opcode::Wait)
      continue;
    if (static_cast<uint64_t>(entry.c + 2 * entry.b) > tables.operands.size())
      return fail("instructions", item)
             << "its packets are not in the table of operands";
    SmallVector<Words> expected;
    for (int64_t first = entry.c; first < entry.c + 2 * entry.b; first += 2) {
      OperandEntry begin = tables.operands[first],
                   end = tables.operands[first + 1];
      if (begin.slot != 0 || end.slot != 0)
        return fail("operands", first) << "rank packets must lie in the arena";
      expected.push_back({begin.offset, end.offset});
    }
    llvm::sort(expected);
    if (ArrayRef<Words>(expected) != sent)
      return fail("instructions", item)
             << "does not wait for exactly the packets that are sent before "
             << "semaphore '" << record.name << "' is signalled";
  }
  return success();
}

LogicalResult TableChecker::checkHandoffs() {
  std::vector<SmallVector<size_t>> items(manifest.semaphores.size());
  std::vector<SmallVector<Words>> sent(manifest.semaphores.size());
  for (const LaneRecord &lane : tables.lanes) {
    std::optional<Words> last;
    for (int64_t item = lane.first; item < lane.end; ++item) {
      const Instruction &entry = tables.instructions[item];
      if (entry.opcode == Opcode::Run)
        last = getWords(entry.a);
      if (entry.opcode == Opcode::Wait)
        last = std::nullopt;
      if (entry.opcode == Opcode::Signal || entry.opcode == Opcode::Wait)
        items[entry.a].push_back(item);
      if (entry.opcode == Opcode::Signal && entry.c) {
        if (!last)
          return fail("instructions", item)
                 << "does not come right after a work item that sends packets";
        sent[entry.a].push_back(*last);
      }
    }
  }
  for (size_t semaphore = 0; semaphore < items.size(); ++semaphore) {
    llvm::sort(sent[semaphore]);
    if (failed(checkHandoff(semaphore, items[semaphore], sent[semaphore])))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The end of a launch
//===----------------------------------------------------------------------===//

std::optional<int64_t> TableChecker::findLastWriter(int64_t slot) const {
  std::optional<int64_t> writer;
  for (auto [task, record] : llvm::enumerate(manifest.tasks))
    for (auto [index, operand] : llvm::enumerate(manifest.getFootprint(record)))
      if (operand.access != Access::Read &&
          tables.operands[tables.tasks[task].second + index].slot == slot)
        writer = task;
  return writer;
}

/// Checks that a state which ends the launch is read once, by the lane that has
/// just run the vCTA that writes the state last.
LogicalResult TableChecker::checkStop() {
  std::optional<size_t> found;
  for (const LaneRecord &lane : tables.lanes)
    for (int64_t item = lane.first; item < lane.end; ++item) {
      const Instruction &entry = tables.instructions[item];
      if (entry.opcode != Opcode::Stop)
        continue;
      if (found)
        return fail("instructions", item)
               << "is the second stop: a program has at most one";
      found = item;
      std::optional<int64_t> writer = findLastWriter(entry.a);
      bool follows = writer && item > lane.first;
      if (follows) {
        const Instruction &workItem = tables.instructions[item - 1];
        follows = workItem.opcode == Opcode::Run && workItem.a == *writer &&
                  manifest.tasks[*writer].vctas == 1;
      }
      if (!follows)
        return fail("instructions", item)
               << "does not come right after the last write of the state that "
                  "it reads";
    }
  for (const BufferRecord &buffer : manifest.buffers)
    if (buffer.stop && !found)
      return emitError(loc) << "instructions: no stop reads '" << buffer.name
                            << "', which ends the launch";
  return success();
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// Returns the rank in a name such as `rank1/x`.
std::optional<int64_t> TableChecker::getRank(StringRef name) const {
  int64_t rank;
  auto [owner, rest] = name.split('/');
  if (!owner.consume_front("rank") || owner.getAsInteger(10, rank) ||
      rank < 0 || rank >= manifest.ranks)
    return std::nullopt;
  return rank;
}

/// Checks that a lane runs no task named after another rank, and no task that
/// binds buffers of another rank.
LogicalResult TableChecker::checkWorkItem(size_t item, int64_t rank) {
  const TaskRecord &record = manifest.tasks[tables.instructions[item].a];
  if (getRank(record.name).value_or(rank) != rank)
    return fail("instructions", item)
           << "runs '" << record.name << "' on a lane of rank " << rank;
  for (int64_t value : record.values) {
    if (value >= static_cast<int64_t>(manifest.buffers.size()))
      continue;
    const BufferRecord &buffer = manifest.buffers[value];
    if (buffer.kind != ArgumentKind::Constant && getRank(buffer.name) != rank)
      return fail("instructions", item)
             << "runs '" << record.name << "', which binds '" << buffer.name
             << "', on a lane of rank " << rank;
  }
  return success();
}

LogicalResult TableChecker::checkRanks() {
  if (manifest.ranks == 1)
    return success();
  int64_t smsOfRank = manifest.sms / manifest.ranks;
  for (const LaneRecord &lane : tables.lanes)
    for (int64_t item = lane.first; item < lane.end; ++item)
      if (tables.instructions[item].opcode == Opcode::Run &&
          failed(checkWorkItem(item, lane.sm / smsOfRank)))
        return failure();
  return success();
}

LogicalResult validation::checkTables(const Tables &tables,
                                      const Manifest &manifest, Location loc) {
  return TableChecker(tables, manifest, loc).check();
}
