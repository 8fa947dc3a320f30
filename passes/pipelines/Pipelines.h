//===- Pipelines.h - The stages in order ------------------------*- C++ -*-===//

#ifndef ARK_PASSES_PIPELINES_PIPELINES_H
#define ARK_PASSES_PIPELINES_PIPELINES_H

namespace mlir::ark {

/// Registers every pipeline under its command-line name.
void registerArkPipelines();

} // namespace mlir::ark

#endif // ARK_PASSES_PIPELINES_PIPELINES_H
