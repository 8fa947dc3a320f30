//===- CpuLowering.cpp - From kernel to code of a cpu
//------------------------===//

#include "passes/target/Lowerings.h"
#include "passes/target/Passes.h"

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

/// What code generation depends on.
namespace {
struct Processor {
  int64_t vectorLanes;
  /// Whether there are instructions for fma and for conversions of f16.
  bool fma, halves;
};
} // namespace

/// AVX2 came with both; AArch64 always has them.
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

/// Bodies become loops over scalars, written so that LLVM vectorises them.
static void addLoops(OpPassManager &pm, const Processor &processor) {
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(
      ark::createArkVectorizeContractionsPass({processor.vectorLanes}));
  functions.addPass(ark::createRelaxReductionsPass());
  functions.addPass(createConvertLinalgToLoopsPass());
  functions.addPass(ark::createExpandFloatsPass({!processor.halves}));
  functions.addPass(ark::createExpandMathPass({processor.fma}));
  functions.addPass(arith::createArithExpandOpsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

/// Everything to the LLVM dialect, from the highest level down.
static void addLoweringToLLVM(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(affine::createAffineExpandIndexOpsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vector;
  // Panels of weights are transposed in registers, a square of lanes at a time.
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
  pm.addPass(ark::createMoveBitsPass());
  pm.addPass(ark::createWidenBooleansPass());
  pm.addPass(ark::createSetLinkagePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // When addresses are seen to come from the argument.
  pm.addPass(ark::createReleasePacketsPass());
}

void ark::buildCpuLowering(OpPassManager &pm, int64_t vectorLanes) {
  addLoops(pm, getProcessor(vectorLanes));
  addLoweringToLLVM(pm);
}
