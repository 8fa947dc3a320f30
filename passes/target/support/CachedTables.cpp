//===- CachedTables.cpp - Kernel tables in shared memory ------------------===//

#include "passes/target/support/CachedTables.h"

#include "passes/target/support/SharedMemory.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

static int64_t getInstructionWords(KernelOp kernel) {
  auto rows = llvm::to_vector(kernel.getLanes().getValues<int32_t>());
  int64_t longest = 0;
  for (size_t row = 0; row < rows.size(); row += 3)
    longest = std::max<int64_t>(longest, rows[row + 2] - rows[row + 1]);
  return longest * kInstructionWords;
}

SmallVector<KernelTable> ark::getTables(KernelOp kernel) {
  int64_t rows = kernel.getOperandsAttr().getShapedType().getDimSize(0);
  return {{abi::kTasks, abi::kTaskFunction,
           static_cast<int64_t>(kernel.getTasks().size())},
          {abi::kInstructions, abi::kInstructionFunction,
           getInstructionWords(kernel)},
          {abi::kOperands, abi::kOperandFunction, rows}};
}

int64_t ark::getTableBytes(KernelOp kernel) {
  int64_t bytes = abi::kContextWords * kWordBytes;
  for (const KernelTable &table : getTables(kernel))
    bytes = llvm::alignTo(bytes, kSharedAlignment) + table.words * kWordBytes;
  return llvm::alignTo(bytes, kDispatchStateBytes) + kDispatchStateBytes;
}
