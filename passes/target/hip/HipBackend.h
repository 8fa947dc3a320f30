//===- HipBackend.h - Code generation for AMD GPUs --------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_HIP_HIPBACKEND_H
#define ARK_PASSES_TARGET_HIP_HIPBACKEND_H

namespace mlir::ark {

/// Registers the backend `hip`.
void registerHipBackend();

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_HIP_HIPBACKEND_H
