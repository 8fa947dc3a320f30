//===- CpuBackend.h - Code generation for processors ------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_CPU_CPUBACKEND_H
#define ARK_PASSES_TARGET_CPU_CPUBACKEND_H

namespace mlir::ark {

/// Registers the backend `cpu`.
void registerCpuBackend();

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_CPU_CPUBACKEND_H
