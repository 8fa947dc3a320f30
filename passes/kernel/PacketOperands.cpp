//===- PacketOperands.cpp - Operands of bodies that are packets -----------===//

#include "passes/kernel/PacketOperands.h"

#include "lib/analysis/CostModel.h"
#include "passes/kernel/KernelAbi.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kArenaSlot = 0;

namespace {
class Finder {
public:
  explicit Finder(KernelOp kernel)
      : kernel(kernel),
        tasks(llvm::to_vector(kernel.getTaskTable().getValues<int32_t>())),
        operands(
            llvm::to_vector(kernel.getOperandsAttr().getValues<int64_t>())) {}

  FailureOr<SmallVector<llvm::BitVector>> find();

private:
  unsigned getNumOperands(int64_t body);
  bool hasEntry(int64_t entry) const;
  bool hasEntries(size_t task);
  LogicalResult collectPolled();
  void collectSenders();
  bool isPacket(size_t task, int64_t entry, bool isLast);

  KernelOp kernel;
  SmallVector<int32_t> tasks;
  SmallVector<int64_t> operands;
  /// Arena offsets of the first words that waits poll.
  llvm::DenseSet<int64_t> polled;
  /// Tasks with a work item directly before a signal of kind `packet`. Empty if
  /// no instruction is such a signal.
  llvm::DenseSet<int64_t> senders;
};
} // namespace

unsigned Finder::getNumOperands(int64_t body) {
  auto entry = cast<DictionaryAttr>(kernel.getBodies()[body]);
  auto count = entry.getAs<IntegerAttr>("operands");
  return count ? count.getInt() : 0;
}

bool Finder::hasEntry(int64_t entry) const {
  return entry >= 0 && (entry + 1) * abi::kOperandFields <=
                           static_cast<int64_t>(operands.size());
}

/// Returns true if the body and the operands of a task are in the tables.
bool Finder::hasEntries(size_t task) {
  int64_t body = tasks[task * abi::kTaskFields],
          first = tasks[task * abi::kTaskFields + 1];
  if (body < 0 || body >= static_cast<int64_t>(kernel.getBodies().size()))
    return false;
  int64_t count = getNumOperands(body);
  return count == 0 || (hasEntry(first) && hasEntry(first + count - 1));
}

/// Collects the polled words. A wait with a nonzero third field names pairs of
/// entries in the operand table: the first and the last word of every arrival.
LogicalResult Finder::collectPolled() {
  auto fields = llvm::to_vector(kernel.getInstructions().getValues<int32_t>());
  for (size_t entry = 0; entry < fields.size();
       entry += abi::kInstructionFields) {
    int64_t semaphore = fields[entry + 1], arrivals = fields[entry + 2],
            first = fields[entry + 3];
    if (static_cast<abi::Opcode>(fields[entry]) != abi::Opcode::Wait ||
        first == 0)
      continue;
    if (arrivals < 1 || !hasEntry(first) || !hasEntry(first + 2 * arrivals - 1))
      return kernel.emitOpError("semaphore ")
             << semaphore
             << " waits for packets that are not in the operand table";
    for (int64_t arrival = 0; arrival < arrivals; ++arrival)
      polled.insert(operands[(first + abi::kArrivalEntries * arrival) *
                                 abi::kOperandFields +
                             abi::kOperandOffset]);
  }
  return success();
}

/// Collects the tasks that send packets. An offset is not enough to identify
/// the sender, because an empty intermediate may lie at the offset of packets.
void Finder::collectSenders() {
  auto fields = llvm::to_vector(kernel.getInstructions().getValues<int32_t>());
  for (size_t entry = abi::kInstructionFields; entry < fields.size();
       entry += abi::kInstructionFields) {
    size_t before = entry - abi::kInstructionFields;
    if (static_cast<abi::Opcode>(fields[entry]) == abi::Opcode::Signal &&
        fields[entry + 3] != 0 &&
        static_cast<abi::Opcode>(fields[before]) == abi::Opcode::Run)
      senders.insert(fields[before + 1]);
  }
}

bool Finder::isPacket(size_t task, int64_t entry, bool isLast) {
  int64_t slot = operands[entry * abi::kOperandFields];
  int64_t offset = operands[entry * abi::kOperandFields + abi::kOperandOffset];
  if (kernel.getPackets() &&
      slot == static_cast<int64_t>(kernel.getBuffers().size()) + 1)
    return true;
  bool maySend = senders.empty() || senders.contains(task);
  return maySend && isLast && slot == kArenaSlot && polled.contains(offset);
}

FailureOr<SmallVector<llvm::BitVector>> Finder::find() {
  if (failed(collectPolled()))
    return failure();
  collectSenders();
  SmallVector<llvm::BitVector> all;
  for (size_t body = 0; body < kernel.getBodies().size(); ++body)
    all.emplace_back(getNumOperands(body));
  llvm::BitVector isKnown(all.size());
  for (size_t task = 0; task < tasks.size() / abi::kTaskFields; ++task) {
    if (!hasEntries(task))
      return kernel.emitOpError("task ") << task << " is not in the tables";
    int64_t body = tasks[task * abi::kTaskFields];
    llvm::BitVector own(all[body].size());
    for (unsigned operand = 0; operand < own.size(); ++operand)
      own[operand] =
          isPacket(task, tasks[task * abi::kTaskFields + 1] + operand,
                   operand + 1 == own.size());
    if (kernel.getPackets() && isKnown[body] && own != all[body])
      return kernel.emitOpError("task ")
             << task << " shares body " << kernel.getBodies()[body]
             << " with a task that has packets in other operands";
    isKnown.set(body);
    all[body] |= own;
  }
  return all;
}

FailureOr<SmallVector<llvm::BitVector>>
mlir::ark::findPacketOperands(KernelOp kernel) {
  return Finder(kernel).find();
}

LogicalResult
mlir::ark::verifyPacketArguments(KernelOp kernel,
                                 ArrayRef<llvm::BitVector> packets,
                                 ArrayRef<FunctionOpInterface> bodies) {
  TargetAttr target = findTarget(kernel);
  bool isForGpu = target && target.isGpu();
  for (auto [function, operands] : llvm::zip_equal(bodies, packets)) {
    FunctionOpInterface body = function;
    unsigned count =
        std::max(body.getNumArguments(), abi::kBodyOperands + operands.size());
    for (unsigned index = 0; index < count; ++index) {
      bool isMarked = index < body.getNumArguments() &&
                      body.getArgAttr(index, ArkDialect::kPacketsAttr);
      bool isPacket = index >= abi::kBodyOperands &&
                      index - abi::kBodyOperands < operands.size() &&
                      operands[index - abi::kBodyOperands];
      if (isPacket ? !isMarked : isMarked && isForGpu)
        return body.emitOpError("argument ")
               << index << (isMarked ? " carries '" : " does not carry '")
               << ArkDialect::kPacketsAttr << "', but its operand is "
               << (isPacket ? "packets" : "not packets");
    }
  }
  return success();
}
