//===- CachedTables.cpp - Kernel tables in shared memory ------------------===//

#include "passes/target/tables/CachedTables.h"

#include "dialects/ark/ArkDomains.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the maximum number of instructions that linking for a GPU of each
/// rank (ark_mlir/runtime/ranks/linking.py) makes of one instruction: a signal
/// goes to the GPU of every rank that waits, a stop to all GPUs, and a barrier
/// has two levels. A wait may have further counters for the signals of other
/// GPUs: one for GPUs of its domain, and one for those of other domains.
static int64_t getLinkedLength(abi::Opcode opcode, int64_t ranks,
                               bool hasDomains) {
  if (opcode == abi::Opcode::Signal || opcode == abi::Opcode::Stop)
    return ranks;
  if (opcode == abi::Opcode::Wait && ranks > 1)
    return hasDomains ? 3 : 2;
  if (opcode == abi::Opcode::Barrier && ranks > 1)
    return hasDomains ? ranks + 4 : ranks + 3;
  return 1;
}

/// Returns the instruction words of the longest lane.
static int64_t getInstructionWords(KernelOp kernel) {
  int64_t ranks = kernel.getRanks().value_or(1);
  bool hasDomains = Domains(kernel).areSeveral();
  auto lanes = llvm::to_vector(kernel.getLanes().getValues<int32_t>());
  auto fields = llvm::to_vector(kernel.getInstructions().getValues<int32_t>());
  int64_t longest = 0;
  for (size_t lane = 0; lane < lanes.size(); lane += abi::kLaneFields) {
    int64_t length = 0;
    for (int64_t item = lanes[lane + abi::kLaneBegin];
         item < lanes[lane + abi::kLaneEnd]; ++item)
      length += getLinkedLength(
          static_cast<abi::Opcode>(fields[abi::kInstructionFields * item]),
          ranks, hasDomains);
    longest = std::max(longest, length);
  }
  return longest * kInstructionWords;
}

SmallVector<KernelTable> ark::getTables(KernelOp kernel) {
  int64_t numOperands = kernel.getOperandsAttr().getShapedType().getDimSize(0);
  return {{abi::kTasks, abi::kTaskFunction,
           static_cast<int64_t>(kernel.getTasks().size())},
          {abi::kInstructions, abi::kInstructionFunction,
           getInstructionWords(kernel)},
          {abi::kOperands, abi::kOperandFunction, numOperands}};
}

int64_t ark::getNumContextWords(KernelOp kernel) {
  if (kernel.getRanks().value_or(1) == 1)
    return abi::kRanks;
  return Domains(kernel).areSeveral() ? abi::kContextWords : abi::kNetwork;
}

int64_t ark::getTableBytes(KernelOp kernel) {
  int64_t bytes = getNumContextWords(kernel) * kWordBytes;
  for (const KernelTable &table : getTables(kernel))
    bytes = llvm::alignTo(bytes, kSharedAlignment) + table.words * kWordBytes;
  return llvm::alignTo(bytes, kDispatchStateBytes) + kDispatchStateBytes;
}
