//===- SharedMemory.h - The shared memory of a launch -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_SHAREDMEMORY_H
#define ARK_PASSES_TARGET_SUPPORT_SHAREDMEMORY_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {

/// The least alignment of data in shared memory.
inline constexpr int64_t kSharedAlignment = 128;

/// Returns the alignment of a temporary in shared memory: `kSharedAlignment`,
/// or that of the temporary if it is larger.
int64_t getSharedAlignment(memref::AllocaOp temporary);

/// Returns the array of unknown size that a launch gives every CTA, in the
/// address space that NVVM and ROCDL know as shared memory. Creates the array
/// at the first call.
LLVM::GlobalOp getSharedMemory(ModuleOp module);

/// Creates a generic pointer to the byte `offset` of shared memory.
Value getSharedPointer(OpBuilder &builder, Location loc, LLVM::GlobalOp memory,
                       int64_t offset);

/// Returns the bytes of shared memory that a kernel has used so far, from the
/// begin.
int64_t getSharedBytes(KernelOp kernel);
void setSharedBytes(KernelOp kernel, int64_t bytes);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_SHAREDMEMORY_H
