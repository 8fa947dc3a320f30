//===- ToyBackend.cpp - Code generation for a toy GPU ---------------------===//
//
// The example of docs/extending.md: a GPU whose warps have 16 threads. Its code
// is that of the host, and its instructions are functions that the host
// emulates (tests/support/toy).
//
//===----------------------------------------------------------------------===//

#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/module/GpuLowering.h"
#include "tests/lib/TestPasses.h"

#include "lib/backend/GpuBackend.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/GPUToLLVMSPV/GPUToLLVMSPVPass.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

#include "passes/kernel/KernelTexts.h.inc"
#include "tests/lib/KernelTexts.h.inc"

using namespace mlir;
using namespace mlir::ark;

static constexpr int64_t kToyWarpSize = 16;

/// Adds the passes that lower kernel and bodies to a `gpu.module` in the LLVM
/// dialect, for CTAs of `threads` threads.
static void buildToyLowering(OpPassManager &pm, int64_t threads,
                             bool hasMatrixInstruction) {
  auto addVendorPasses = [=](OpPassManager &pm) {
    if (hasMatrixInstruction)
      pm.addPass(createTestMatrixInstructionsPass(threads));
  };
  addGpuLowering(pm, {threads, kToyWarpSize, /*library=*/true,
                      /*roundsToBF16=*/false, /*hasFp8Conversions=*/false,
                      addVendorPasses});
  OpPassManager &gpuModule = pm.nest<gpu::GPUModuleOp>();
  ConvertGpuOpsToLLVMSPVOpsOptions gpuOps;
  gpuOps.use64bitIndex = true;
  // Runs first, because the conversion of GPU ops would move memrefs to an
  // address space for global memory.
  gpuModule.addPass(createConvertToLLVMPass());
  gpuModule.addPass(createConvertGpuOpsToLLVMSPVOps(gpuOps));
  gpuModule.addPass(createReconcileUnrealizedCastsPass());
  gpuModule.addPass(createCanonicalizerPass());
}

namespace {
class ToyBackend : public GpuBackend {
public:
  StringRef getName() const override { return "toy"; }

  SmallVector<KernelText> getKernelTexts(RankLinks) const override {
    return {kGpuResident, kGpuKernel, kGpuSemaphores,
            kLocalRanks,  kToyKernel, kKernelTables};
  }
  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  LogicalResult
  buildLowering(OpPassManager &pm, TargetAttr target, const LoweringOptions &,
                function_ref<InFlightDiagnostic()> emitError) const override {
    if (failed(verifyWarpSize(target, kToyWarpSize, emitError)))
      return failure();
    buildToyLowering(pm, target.getWarps() * kToyWarpSize,
                     !target.getGpu().getMma().empty());
    return success();
  }
  void registerLowering(DialectRegistry &registry) const override {
    OpPassManager all(ModuleOp::getOperationName());
    buildToyLowering(all, kToyWarpSize, /*hasMatrixInstruction=*/true);
    all.getDependentDialects(registry);
    registerGpuLowering(registry);
  }

  /// Every CTA is a thread of the host, and has shared memory of its own.
  void prepareFunctions(ModuleOp module, KernelOp kernel) const override {
    setSharedMemorySize(module, kernel);
    getSharedMemory(module).setThreadLocal_(true);
  }
  void describeModule(gpu::GPUModuleOp, TargetAttr) const override {}
  bool needsModuleTargets() const override { return false; }
  /// States the size of warps, which the conversion of shuffles requires.
  void describeFunctions(gpu::GPUModuleOp gpuModule,
                         gpu::GPUFuncOp) const override {
    Builder builder(gpuModule.getContext());
    for (auto function : gpuModule.getOps<func::FuncOp>())
      if (!function.isExternal())
        function->setAttr("intel_reqd_sub_group_size",
                          builder.getI32IntegerAttr(kToyWarpSize));
  }

  StringRef getIntrinsicPrefix() const override { return "toy"; }
  bool isOwnAssembly(LLVM::InlineAsmOp assembly) const override {
    return assembly.getAsmString().empty();
  }
};
} // namespace

void ark::registerToyBackend() {
  registerBackend(std::make_unique<ToyBackend>());
}
