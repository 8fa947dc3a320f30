//===- DecodeTables.cpp - Decode the tables of a bundle -------------------===//

#include "lib/validation/DecodeTables.h"

#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::validation;

namespace {
/// The entries of one section.
template <typename T, unsigned fields>
class Entries {
public:
  explicit Entries(StringRef bytes) : bytes(bytes) {}

  bool isWhole() const { return bytes.size() % (sizeof(T) * fields) == 0; }
  size_t size() const { return bytes.size() / (sizeof(T) * fields); }
  int64_t at(size_t entry, unsigned field) const {
    return llvm::support::endian::read<T>(
        bytes.data() + (entry * fields + field) * sizeof(T),
        llvm::endianness::little);
  }

private:
  StringRef bytes;
};

class TableDecoder {
public:
  TableDecoder(const RawTables &raw, const Manifest &manifest, Location loc)
      : manifest(manifest), loc(loc), instructions(raw.instructions),
        lanes(raw.lanes), tasks(raw.tasks), operands(raw.operands) {}

  FailureOr<Tables> decode();

private:
  InFlightDiagnostic fail(StringRef table, size_t entry) {
    return emitError(loc) << table << "[" << entry << "]: ";
  }
  LogicalResult decodeInstructions();
  StringRef findProblem(const Instruction &instruction) const;
  LogicalResult decodeLanes();
  LogicalResult decodeTasks();
  LogicalResult decodeOperands();

  const Manifest &manifest;
  Location loc;
  Entries<int32_t, 4> instructions;
  Entries<int32_t, 3> lanes;
  Entries<int32_t, 2> tasks;
  Entries<int64_t, 2> operands;
  Tables decoded;
};
} // namespace

/// Returns a problem with an instruction by itself, or an empty string.
StringRef TableDecoder::findProblem(const Instruction &entry) const {
  auto isSemaphore = [&] {
    return entry.a >= 0 &&
           entry.a < static_cast<int64_t>(manifest.semaphores.size());
  };
  switch (entry.opcode) {
  case Opcode::Run:
  case Opcode::Prefetch:
    if (entry.a < 0 || entry.a >= static_cast<int64_t>(manifest.tasks.size()))
      return "there is no such task";
    if (entry.b < 0 || entry.b >= entry.c ||
        entry.c > manifest.tasks[entry.a].vctas)
      return "the task has no such vCTAs";
    return "";
  case Opcode::Signal:
    if (!isSemaphore())
      return "there is no such semaphore";
    return entry.b != 0 || entry.c < 0 || entry.c > 1
               ? "an unused field is not zero"
               : "";
  case Opcode::Wait:
  case Opcode::Barrier:
    if (!isSemaphore())
      return "there is no such semaphore";
    if (entry.b != manifest.semaphores[entry.a].arrivals)
      return "does not wait for all arrivals of the semaphore";
    if (entry.opcode == Opcode::Barrier && entry.c != 0)
      return "an unused field is not zero";
    return entry.c < 0 ? "its packets are not in the table of operands" : "";
  case Opcode::Stop:
    if (entry.a < 1 ||
        entry.a > static_cast<int64_t>(manifest.buffers.size()) ||
        !manifest.buffers[entry.a - 1].stop)
      return "reads a buffer that does not end the launch";
    return entry.b != 0 || entry.c != 0 ? "an unused field is not zero" : "";
  }
  return "there is no such opcode";
}

LogicalResult TableDecoder::decodeInstructions() {
  for (size_t entry = 0; entry < instructions.size(); ++entry) {
    int64_t opcode = instructions.at(entry, 0);
    if (opcode < 0 || opcode > kLastOpcode)
      return fail("instructions", entry) << "there is no opcode " << opcode;
    Instruction instruction = {
        static_cast<Opcode>(opcode), instructions.at(entry, 1),
        instructions.at(entry, 2), instructions.at(entry, 3)};
    if (StringRef problem = findProblem(instruction); !problem.empty())
      return fail("instructions", entry) << problem;
    decoded.instructions.push_back(instruction);
  }
  return success();
}

LogicalResult TableDecoder::decodeLanes() {
  int64_t next = 0, end = instructions.size();
  for (size_t entry = 0; entry < lanes.size(); ++entry) {
    LaneRecord lane = {lanes.at(entry, 0), lanes.at(entry, 1),
                       lanes.at(entry, 2)};
    if (lane.sm < 0 || lane.sm >= manifest.sms)
      return fail("lanes", entry) << "there is no SM " << lane.sm;
    if (lane.first != next || lane.end < next || lane.end > end)
      return fail("lanes", entry) << "does not begin where the lane before it "
                                     "ends, or ends past the instructions";
    next = lane.end;
    decoded.lanes.push_back(lane);
  }
  if (next != end)
    return emitError(loc) << "lanes: instructions from " << next
                          << " on belong to no lane";
  return success();
}

LogicalResult TableDecoder::decodeTasks() {
  if (tasks.size() != manifest.tasks.size())
    return emitError(loc) << "tasks: " << tasks.size() << " entries for "
                          << manifest.tasks.size() << " tasks";
  for (size_t entry = 0; entry < tasks.size(); ++entry) {
    const TaskRecord &task = manifest.tasks[entry];
    int64_t body = tasks.at(entry, 0), first = tasks.at(entry, 1);
    if (body != task.body)
      return fail("tasks", entry) << "runs body " << body << "; the manifest "
                                  << "says " << task.body;
    int64_t count = manifest.getFootprint(task).size();
    if (first < 0 || first + count > static_cast<int64_t>(operands.size()))
      return fail("tasks", entry) << "its operands are not in the table";
    decoded.tasks.push_back({body, first});
  }
  return success();
}

LogicalResult TableDecoder::decodeOperands() {
  SmallVector<int64_t> bytes = manifest.getSlotBytes();
  for (size_t entry = 0; entry < operands.size(); ++entry) {
    OperandEntry operand = {operands.at(entry, 0), operands.at(entry, 1)};
    if (operand.slot < 0 || operand.slot >= static_cast<int64_t>(bytes.size()))
      return fail("operands", entry) << "there is no slot " << operand.slot;
    if (operand.offset < 0 || operand.offset > bytes[operand.slot])
      return fail("operands", entry) << "the offset is outside of the slot";
    decoded.operands.push_back(operand);
  }
  return success();
}

FailureOr<Tables> TableDecoder::decode() {
  if (!instructions.isWhole() || !lanes.isWhole() || !tasks.isWhole() ||
      !operands.isWhole())
    return emitError(loc) << "a section ends within an entry";
  if (failed(decodeInstructions()) || failed(decodeLanes()) ||
      failed(decodeTasks()) || failed(decodeOperands()))
    return failure();
  return std::move(decoded);
}

FailureOr<Tables> validation::decodeTables(const RawTables &raw,
                                           const Manifest &manifest,
                                           Location loc) {
  return TableDecoder(raw, manifest, loc).decode();
}
