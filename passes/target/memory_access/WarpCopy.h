//===- WarpCopy.h - Copies of a warp to shared memory -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MEMORY_ACCESS_WARPCOPY_H
#define ARK_PASSES_TARGET_MEMORY_ACCESS_WARPCOPY_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Copies 16 bytes for each thread of a warp from global to shared memory,
/// without registers (`global_load_lds`), on a GPU with `CopyKind::LoadLds`.
/// The thread reads at `source`, and thread `t` of the warp writes 16 * t bytes
/// after `target`, which all threads have in common. The copy adds `bytes` to
/// both addresses.
void createWarpCopy(ImplicitLocOpBuilder &builder, Value source, Value target,
                    int64_t bytes);

/// Waits until at most `count` copies and later loads of the warp are in
/// flight, and until its reads of shared memory have ended.
void waitForWarpCopies(ImplicitLocOpBuilder &builder, int64_t count);

/// Waits in the same way for all warps of the CTA. A barrier of another kind
/// would wait for all copies.
void createCopyBarrier(ImplicitLocOpBuilder &builder, int64_t count);

/// States that a load from shared memory reads nothing that copies in flight
/// write. Otherwise LLVM waits for all copies before the load.
void ignoreWarpCopies(LLVM::LoadOp load);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MEMORY_ACCESS_WARPCOPY_H
