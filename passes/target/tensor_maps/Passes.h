//===- Passes.h - Passes for tensor maps ------------------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_TENSOR_MAPS_PASSES_H
#define ARK_PASSES_TARGET_TENSOR_MAPS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::ark {

#define GEN_PASS_DECL
#include "passes/target/tensor_maps/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/target/tensor_maps/Passes.h.inc"

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_TENSOR_MAPS_PASSES_H
