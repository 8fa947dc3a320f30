//===- SharedMemory.h - The shared memory of a launch -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MEMORY_ACCESS_SHAREDMEMORY_H
#define ARK_PASSES_TARGET_MEMORY_ACCESS_SHAREDMEMORY_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {

/// Minimum alignment of data in shared memory.
inline constexpr int64_t kSharedAlignment = 128;

/// Returns the alignment of a temporary in shared memory: the maximum of
/// `kSharedAlignment` and its own alignment.
int64_t getSharedAlignment(memref::AllocaOp temporary);

/// Upper bound of the shared memory for the kernel's tables, in bytes.
inline constexpr int64_t kMaxTableBytes = 65536;

/// Returns the bytes of shared memory that a temporary takes.
int64_t getSharedBytes(memref::AllocaOp temporary);

/// Returns the bytes of shared memory that are reserved for tables. A small
/// memory has room only for small tables.
int64_t getTableRoom(int64_t memory);

/// Returns the shared memory of an SM of `memory` bytes that remains for a body
/// beside tables and the body's temporaries. If the memory has more than
/// `kMaxTableBytes`, the largest tables fit.
int64_t getSharedRoom(func::FuncOp body, int64_t memory);

/// Returns the global for dynamic shared memory, in the address space of shared
/// memory that NVVM and ROCDL have in common. Creates the global if it is
/// missing.
LLVM::GlobalOp getSharedMemory(ModuleOp module);

/// Creates a generic pointer to byte `offset` of shared memory.
Value getSharedPointer(OpBuilder &builder, Location loc, LLVM::GlobalOp memory,
                       int64_t offset);

/// Returns the bytes at the start of shared memory that a kernel has allocated
/// so far.
int64_t getSharedBytes(KernelOp kernel);
void setSharedBytes(KernelOp kernel, int64_t bytes);

/// Gives the global for shared memory the size that a kernel has allocated, for
/// GPUs whose code states the size.
void setSharedMemorySize(ModuleOp module, KernelOp kernel);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MEMORY_ACCESS_SHAREDMEMORY_H
