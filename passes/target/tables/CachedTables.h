//===- CachedTables.h - Kernel tables in shared memory ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_TABLES_CACHEDTABLES_H
#define ARK_PASSES_TARGET_TABLES_CACHEDTABLES_H

#include "dialects/ark/ArkOps.h"
#include "passes/kernel/KernelAbi.h"

namespace mlir::ark {

inline constexpr int64_t kWordBytes = 8;
/// 64-bit words of an instruction, and of an operand, which has a buffer and an
/// offset.
inline constexpr int64_t kInstructionWords = abi::kInstructionFields / 2;
inline constexpr int64_t kOperandWords = abi::kOperandFields;
/// Bytes of the state of the dispatch loop.
inline constexpr int64_t kDispatchStateBytes = 8;

/// A table that the context points to, and the number of 64-bit words that a
/// lane needs of it: the whole task table, the instructions of the longest
/// lane, or the addresses of the operands.
struct KernelTable {
  abi::ContextField field;
  /// The function of the kernel that returns an entry.
  StringRef reader;
  int64_t words;
};

/// Returns the tables by decreasing benefit per byte.
SmallVector<KernelTable> getTables(KernelOp kernel);

/// Returns the number of words of the context that a kernel reads. The fields
/// from `kRanks` on are for kernels of several ranks.
int64_t getNumContextWords(KernelOp kernel);

/// Returns the bytes of shared memory for the context and the tables, each
/// aligned to `kSharedAlignment`, and for the state of the dispatch loop.
int64_t getTableBytes(KernelOp kernel);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_TABLES_CACHEDTABLES_H
