//===- SharedMemory.h - The shared memory of a launch -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SHAREDMEMORY_H
#define ARK_PASSES_TARGET_SHAREDMEMORY_H

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {

/// What lies in shared memory begins at multiples of this.
inline constexpr int64_t kSharedAlignment = 128;

/// The same of a temporary, which may ask for more.
int64_t getSharedAlignment(memref::AllocaOp temporary);

/// The array of unknown size that a launch gives every CTA, in the address
/// space that NVVM and ROCDL know as shared memory; created when first asked
/// for.
LLVM::GlobalOp getSharedMemory(ModuleOp module);

/// A generic pointer into it.
Value getSharedPointer(OpBuilder &builder, Location loc, LLVM::GlobalOp memory,
                       int64_t offset);

/// How much of it a kernel has used so far, from its begin.
int64_t getSharedBytes(KernelOp kernel);
void setSharedBytes(KernelOp kernel, int64_t bytes);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SHAREDMEMORY_H
