//===- CudaBackend.h - Code generation for NVIDIA GPUs ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_CUDA_CUDABACKEND_H
#define ARK_PASSES_TARGET_CUDA_CUDABACKEND_H

namespace mlir::ark {

/// Registers the backend `cuda`.
void registerCudaBackend();

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_CUDA_CUDABACKEND_H
