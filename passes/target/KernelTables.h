//===- KernelTables.h - What a lane reads between runs ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_KERNELTABLES_H
#define ARK_PASSES_TARGET_KERNELTABLES_H

#include "dialects/ark/ArkOps.h"
#include "passes/kernel/KernelAbi.h"

namespace mlir::ark {

inline constexpr int64_t kWordBytes = 8;
/// Of an instruction, and of an operand's buffer and offset.
inline constexpr int64_t kInstructionWords = 2;
inline constexpr int64_t kOperandWords = 2;
/// What the walk over instructions knows of itself.
inline constexpr int64_t kWalkStateBytes = 8;

/// A table that the context points to, and the 64-bit words of what a lane
/// needs of it: of instructions those of the longest lane, of operands
/// addresses.
struct KernelTable {
  abi::ContextField field;
  /// The function of the kernel that gives a row.
  StringRef reader;
  int64_t words;
};

/// Those first that are read most for their size.
SmallVector<KernelTable> getTables(KernelOp kernel);

/// What context and tables take of shared memory, each at a multiple of
/// `kSharedAlignment`, and the walk.
int64_t getTableBytes(KernelOp kernel);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_KERNELTABLES_H
