//===- CpuLowering.cpp - Lowering for cpu ---------------------------------===//

#include "passes/target/cpu/CpuLowering.h"

#include "passes/target/attention/Passes.h"
#include "passes/target/cpu/Passes.h"
#include "passes/target/math/Passes.h"
#include "passes/target/module/Passes.h"
#include "passes/target/rowwise/Passes.h"

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

/// Processor properties that code generation depends on.
namespace {
struct Processor {
  int64_t vectorElements;
  /// True if the processor has instructions for fma, and for conversions of
  /// f16.
  bool fma, fp16;
};
} // namespace

/// Returns the properties of this machine. Processors with AVX2 have both kinds
/// of instructions, and so does AArch64.
static Processor getProcessor(int64_t vectorElements) {
  ark::HostCpu host = ark::getHostCpu();
  bool isArm = StringRef(host.triple).starts_with("aarch64");
  if (vectorElements == 0) {
    StringRef features = host.features;
    vectorElements = features.contains("+avx512f") ? 16
                     : features.contains("+avx2")  ? 8
                                                   : 4;
  }
  bool isModern = isArm || vectorElements > 4;
  return {vectorElements, isModern, isModern};
}

/// Adds the passes that lower bodies to scalar loops, which LLVM can vectorise.
static void addLoops(OpPassManager &pm, const Processor &processor) {
  pm.addPass(ark::createExpandNormsPass());
  pm.addPass(ark::createExpandAttentionPass());
  pm.addPass(ark::createExpandAttentionGradientsPass());
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(
      ark::createVectorizeContractionsPass({processor.vectorElements}));
  functions.addPass(ark::createInterchangeLoopsPass());
  functions.addPass(ark::createRelaxReductionsPass());
  functions.addPass(createConvertLinalgToLoopsPass());
  functions.addPass(ark::createGuardStoresPass());
  functions.addPass(ark::createExpandFloatsPass({!processor.fp16}));
  functions.addPass(ark::createExpandMathPass({processor.fma}));
  functions.addPass(arith::createArithExpandOpsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

/// Adds the passes that lower everything to the LLVM dialect, in order of
/// abstraction level.
static void addLoweringToLLVM(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(affine::createAffineExpandIndexOpsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vector;
  // Panels of weights are transposed in registers, in square tiles.
  vector.vectorTransposeLowering =
      vector::VectorTransposeLowering::Shuffle16x16;
  pm.addPass(createConvertVectorToLLVMPass(vector));
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  // Operands have static layouts, so that bodies take bare pointers.
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(func));
  pm.addPass(createConvertControlFlowToLLVMPass());
  // The lowering of multi-dimensional vectors starts from poison.
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(ark::createBitcastNarrowFloatsPass());
  pm.addPass(ark::createWidenBooleansPass());
  pm.addPass(ark::createSetLinkagePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Canonicalisation has folded address computations, so that the pass can
  // trace them to the argument.
  pm.addPass(ark::createReleasePacketsPass());
}

void ark::buildCpuLowering(OpPassManager &pm, int64_t vectorElements) {
  addLoops(pm, getProcessor(vectorElements));
  addLoweringToLLVM(pm);
}
