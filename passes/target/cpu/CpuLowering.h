//===- CpuLowering.h - Lowering for processors ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_CPU_CPULOWERING_H
#define ARK_PASSES_TARGET_CPU_CPULOWERING_H

#include "mlir/Pass/PassManager.h"

namespace mlir::ark {

/// Adds the passes that lower kernel and bodies to functions in the LLVM
/// dialect, for vector registers of `vectorElements` f32 elements; 0 selects
/// those of this machine.
void buildCpuLowering(OpPassManager &pm, int64_t vectorElements);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_CPU_CPULOWERING_H
