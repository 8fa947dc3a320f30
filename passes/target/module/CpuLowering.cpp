//===- CpuLowering.cpp - Lowering for cpu ---------------------------------===//

#include "passes/target/cpu/Passes.h"
#include "passes/target/math/Passes.h"
#include "passes/target/module/Lowerings.h"

#include "lib/target/NativeObject.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// The properties of the processor on which code generation depends.
namespace {
struct Processor {
  int64_t vectorLanes;
  /// True if there are instructions for fma, and for conversions of f16.
  bool fma, fp16;
};
} // namespace

/// Returns the properties of this machine. AVX2 came with both kinds of
/// instructions; AArch64 always has them.
static Processor getProcessor(int64_t vectorLanes) {
  ark::HostCpu host = ark::getHostCpu();
  bool isArm = StringRef(host.triple).starts_with("aarch64");
  if (vectorLanes == 0) {
    StringRef features = host.features;
    vectorLanes = features.contains("+avx512f") ? 16
                  : features.contains("+avx2")  ? 8
                                                : 4;
  }
  bool isModern = isArm || vectorLanes > 4;
  return {vectorLanes, isModern, isModern};
}

/// Adds the passes that lower bodies to loops over scalars, which LLVM can
/// vectorise.
static void addLoops(OpPassManager &pm, const Processor &processor) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(
      ark::createVectorizeContractionsPass({processor.vectorLanes}));
  functions.addPass(ark::createRelaxReductionsPass());
  functions.addPass(createConvertLinalgToLoopsPass());
  functions.addPass(ark::createExpandFloatsPass({!processor.fp16}));
  functions.addPass(ark::createExpandMathPass({processor.fma}));
  functions.addPass(arith::createArithExpandOpsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

/// Adds the passes that lower everything to the LLVM dialect, from the highest
/// level down.
static void addLoweringToLLVM(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(affine::createAffineExpandIndexOpsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vector;
  // Panels of weights are transposed in registers, in squares of lanes.
  vector.vectorTransposeLowering =
      vector::VectorTransposeLowering::Shuffle16x16;
  pm.addPass(createConvertVectorToLLVMPass(vector));
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  // Operands have static layouts, so that a body takes bare pointers.
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(func));
  pm.addPass(createConvertControlFlowToLLVMPass());
  // Lowering a multi-dimensional vector starts from poison.
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(ark::createBitcastNarrowFloatsPass());
  pm.addPass(ark::createWidenBooleansPass());
  pm.addPass(ark::createSetLinkagePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Canonicalization has folded addresses by now, so that the pass can follow
  // them to the argument.
  pm.addPass(ark::createReleasePacketsPass());
}

void ark::buildCpuLowering(OpPassManager &pm, int64_t vectorLanes) {
  addLoops(pm, getProcessor(vectorLanes));
  addLoweringToLLVM(pm);
}
