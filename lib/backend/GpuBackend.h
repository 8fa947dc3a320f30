//===- GpuBackend.h - Code generation for a family of GPUs ------*- C++ -*-===//

#ifndef ARK_LIB_BACKEND_GPUBACKEND_H
#define ARK_LIB_BACKEND_GPUBACKEND_H

#include "lib/backend/Backend.h"
#include "lib/backend/GpuInstructions.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::ark {

class KernelOp;

/// Code generation for a family of GPUs.
class GpuBackend : public Backend, public GpuInstructions {
public:
  const GpuBackend *asGpu() const final { return this; }

  /// Returns `<name>:<arch>`.
  SmallVector<std::string> getTargetNames() const override;

  /// Returns the target in ArkKnownTargets.cpp.
  FailureOr<TargetAttr> parseTarget(std::optional<StringRef> arch,
                                    Location loc) const override;

  //===--------------------------------------------------------------------===//
  // The gpu.module
  //===--------------------------------------------------------------------===//

  /// Changes functions and globals before they move to the `gpu.module`.
  virtual void prepareFunctions(ModuleOp module, KernelOp kernel) const {}

  /// Sets the attributes of a new `gpu.module`, such as its targets.
  virtual void describeModule(gpu::GPUModuleOp gpuModule,
                              TargetAttr target) const = 0;

  /// Returns true if the translation to machine code reads the targets of the
  /// `gpu.module`.
  virtual bool needsModuleTargets() const { return true; }

  /// Sets the attributes of the functions in the `gpu.module`, and of the entry
  /// that the host launches.
  virtual void describeFunctions(gpu::GPUModuleOp gpuModule,
                                 gpu::GPUFuncOp entry) const {}
};

/// Creates inline assembly with side effects and one result.
Value createAssembly(OpBuilder &builder, Location loc, Type type,
                     ValueRange operands, StringRef text,
                     StringRef constraints);

/// Fails with an error if the warps of a target do not have `required` threads.
LogicalResult verifyWarpSize(TargetAttr target, int64_t required,
                             function_ref<InFlightDiagnostic()> emitError);

} // namespace mlir::ark

#endif // ARK_LIB_BACKEND_GPUBACKEND_H
