//===- CudaBackend.cpp - Code generation for NVIDIA GPUs ------------------===//

#include "passes/target/cuda/CudaBackend.h"

#include "passes/kernel/KernelAbi.h"
#include "passes/target/cuda/CudaLowering.h"
#include "passes/target/module/GpuLowering.h"
#include "passes/target/support/Bodies.h"

#include "lib/backend/GpuBackend.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "passes/kernel/KernelTexts.h.inc"
#include "passes/target/cuda/KernelTexts.h.inc"
#include "passes/target/packets/KernelTexts.h.inc"
#include "passes/target/prefetch/KernelTexts.h.inc"
#include "passes/target/tensor_maps/KernelTexts.h.inc"
#include "passes/target/weight_streaming/KernelTexts.h.inc"

using namespace mlir;
using namespace mlir::ark;

/// The data layout of 64-bit code for NVIDIA GPUs. Without it, 64-bit numbers
/// count as aligned to 32 bits and take two loads each.
static constexpr llvm::StringLiteral kDataLayout =
    "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64";

/// Threads of a warp, which the kernel texts fix.
static constexpr int64_t kWarpSize = abi::kCudaWarpSize;

/// Letters of LLVM's constraints for NVPTX: registers and immediates.
static constexpr llvm::StringLiteral kConstraints = "bchrlfdqnN";

/// Loads of words that are read once. LLVM cannot express that a load should
/// fetch its whole line.
static constexpr llvm::StringLiteral kStreamTwoWords =
    "ld.global.L1::no_allocate.L2::128B.v2.b32 {$0, $1}, [$2];";
static constexpr llvm::StringLiteral kStreamFourWords =
    "ld.global.L1::no_allocate.L2::128B.v4.b32 {$0, $1, $2, $3}, [$4];";

/// Returns true if a body contains `wgmma` instructions.
static bool hasWarpgroups(func::FuncOp body) {
  return body
      .walk([](NVVM::WgmmaMmaAsyncOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Returns true if `text` is a single instruction named `name`.
static bool isInstruction(StringRef text, StringRef name) {
  return text.consume_front(name) && text.starts_with(" ") &&
         text.count(';') == 1 && text.ends_with(";");
}

namespace {
class CudaBackend : public GpuBackend {
public:
  StringRef getName() const override { return "cuda"; }

  SmallVector<KernelText> getKernelTexts(RankLinks links) const override;
  void registerDialects(DialectRegistry &registry) const override;

  LogicalResult
  buildLowering(OpPassManager &pm, TargetAttr target,
                const LoweringOptions &options,
                function_ref<InFlightDiagnostic()> emitError) const override;
  void registerLowering(DialectRegistry &registry) const override;

  void prepareFunctions(ModuleOp module, KernelOp kernel) const override;
  void describeModule(gpu::GPUModuleOp gpuModule,
                      TargetAttr target) const override;
  void describeFunctions(gpu::GPUModuleOp gpuModule,
                         gpu::GPUFuncOp entry) const override;

  Value createOpaqueNumber(OpBuilder &builder, Location loc,
                           Value number) const override;
  Value createOpaqueThread(OpBuilder &builder, Location loc) const override;
  Value createLoadFence(OpBuilder &builder, Location loc,
                        Value number) const override;
  bool doesLoadFenceNeedWarp() const override { return true; }
  Value createExp2(OpBuilder &builder, Location loc,
                   Value exponent) const override;
  Value createStreamingLoad(OpBuilder &builder, Location loc, Value pointer,
                            int64_t words) const override;

  bool isMachineDialect(const Dialect &dialect) const override {
    return isa<NVVM::NVVMDialect>(dialect);
  }
  StringRef getIntrinsicPrefix() const override { return "nvvm"; }
  bool isOwnAssembly(LLVM::InlineAsmOp assembly) const override {
    return haveConstraints(assembly, kConstraints);
  }
  bool isPacketAccess(OpOperand &use, StringRef scope) const override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernel and lowering
//===----------------------------------------------------------------------===//

SmallVector<KernelText> CudaBackend::getKernelTexts(RankLinks links) const {
  SmallVector<KernelText> texts = {kGpuResident,
                                   kGpuPackets,
                                   kCudaPacketWords,
                                   kGpuKernel,
                                   kGpuSemaphores,
                                   kCudaStream,
                                   kCudaStreamLane,
                                   kCudaPrefetch,
                                   kCudaRing,
                                   kCudaTensorMaps,
                                   links == RankLinks::None ? kLocalRanks
                                                            : kGpuPeerRanks,
                                   kCudaKernel,
                                   kKernelTables};
  switch (links) {
  case RankLinks::None:
    break;
  case RankLinks::Peers:
    texts.push_back(kCudaPeerStores);
    break;
  case RankLinks::Network:
    texts.append({kCudaDomains, kCudaNetwork});
    break;
  case RankLinks::PortChannels:
    texts.append({kCudaDomains, kCudaPortChannels});
    break;
  }
  return texts;
}

void CudaBackend::registerDialects(DialectRegistry &registry) const {
  registry.insert<NVVM::NVVMDialect>();
}

LogicalResult
CudaBackend::buildLowering(OpPassManager &pm, TargetAttr target,
                           const LoweringOptions &,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(verifyWarpSize(target, kWarpSize, emitError)))
    return failure();
  buildCudaLowering(pm, target.getWarps() * target.getWarpSize(),
                    target.getWarpSize(), target.getGpu().getFp8());
  return success();
}

void CudaBackend::registerLowering(DialectRegistry &registry) const {
  OpPassManager all(ModuleOp::getOperationName());
  buildCudaLowering(all, /*threads=*/kWarpSize, kWarpSize,
                    /*hasFp8Conversions=*/true);
  all.getDependentDialects(registry);
  registerGpuLowering(registry);
  registerConvertNVVMToLLVMInterface(registry);
}

//===----------------------------------------------------------------------===//
// The gpu.module
//===----------------------------------------------------------------------===//

/// Makes bodies with `wgmma` part of the kernel, because ptxas serialises
/// `wgmma` in a called function. The other bodies then become functions with
/// their own register allocation. If no body uses `wgmma`, all bodies become
/// one function, which makes calls cheaper.
void CudaBackend::prepareFunctions(ModuleOp module, KernelOp kernel) const {
  Builder builder(module.getContext());
  SmallVector<func::FuncOp> bodies = getBodies(module);
  if (llvm::none_of(bodies, hasWarpgroups))
    return;
  auto set = [&](func::FuncOp function, StringRef attribute) {
    function->setAttr("passthrough", builder.getStrArrayAttr({attribute}));
  };
  for (func::FuncOp body : bodies)
    set(body, hasWarpgroups(body) ? "alwaysinline" : "noinline");
  for (StringRef caller :
       {StringRef(abi::kRun), kernel.getEntry(), StringRef(abi::kResident)})
    if (auto function = module.lookupSymbol<func::FuncOp>(caller))
      set(function, "alwaysinline");
}

void CudaBackend::describeModule(gpu::GPUModuleOp gpuModule,
                                 TargetAttr target) const {
  Builder builder(gpuModule.getContext());
  auto nvvm = NVVM::NVVMTargetAttr::get(gpuModule.getContext(), /*optLevel=*/3,
                                        "nvptx64-nvidia-cuda", target.getArch(),
                                        target.getGpu().getFeatures());
  gpuModule.setTargetsAttr(builder.getArrayAttr({nvvm}));
  gpuModule->setAttr(LLVM::LLVMDialect::getDataLayoutAttrName(),
                     builder.getStringAttr(kDataLayout));
}

/// One CTA uses all registers of an SM. By default, ptxas would limit the
/// registers for two CTAs.
void CudaBackend::describeFunctions(gpu::GPUModuleOp,
                                    gpu::GPUFuncOp entry) const {
  Builder builder(entry.getContext());
  entry->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                 builder.getI32IntegerAttr(1));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value CudaBackend::createOpaqueNumber(OpBuilder &builder, Location loc,
                                      Value number) const {
  return createAssembly(builder, loc, number.getType(), number,
                        "mov.u32 $0, $1;", "=r,r");
}

Value CudaBackend::createOpaqueThread(OpBuilder &builder, Location loc) const {
  return createAssembly(builder, loc, builder.getI32Type(), ValueRange(),
                        "mov.u32 $0, %tid.x;", "=r");
}

/// ptxas moves no load across a warp barrier.
Value CudaBackend::createLoadFence(OpBuilder &builder, Location loc,
                                   Value number) const {
  return createAssembly(builder, loc, number.getType(), number,
                        "bar.warp.sync 0xffffffff; mov.b64 $0, $1;", "=l,l");
}

/// The instruction returns zero instead of denormal numbers.
Value CudaBackend::createExp2(OpBuilder &builder, Location loc,
                              Value exponent) const {
  return LLVM::CallIntrinsicOp::create(
             builder, loc, exponent.getType(),
             builder.getStringAttr("llvm.nvvm.ex2.approx.ftz"), exponent)
      .getResult(0);
}

/// The load fetches whole lines, and caches them in the L2 only.
Value CudaBackend::createStreamingLoad(OpBuilder &builder, Location loc,
                                       Value pointer, int64_t words) const {
  assert((words == 2 || words == 4) && "no such instruction");
  Type word = builder.getI32Type();
  auto all = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                              SmallVector<Type>(words, word));
  // Other SMs may write the memory, so the load must stay after the wait.
  Value load = createAssembly(builder, loc, all, pointer,
                              words == 4 ? kStreamFourWords : kStreamTwoWords,
                              words == 4 ? "=r,=r,=r,=r,l" : "=r,=r,l");
  SmallVector<Value> loaded;
  for (int64_t i = 0; i < words; ++i)
    loaded.push_back(LLVM::ExtractValueOp::create(builder, loc, load, i));
  return vector::FromElementsOp::create(builder, loc,
                                        VectorType::get({words}, word), loaded);
}

bool CudaBackend::isPacketAccess(OpOperand &use, StringRef scope) const {
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(use.getOwner());
  if (!assembly || use.getOperandNumber() != 0)
    return false;
  StringRef text = assembly.getAsmString();
  auto isAccess = [&](StringRef access, StringRef type) {
    return isInstruction(
        text, (access + ".relaxed." + scope + ".global." + type).str());
  };
  return isInstruction(text, "prefetch.global.L2") || isAccess("st", "u32") ||
         isAccess("st", "u64") || isAccess("ld", "u32") ||
         isAccess("ld", "v2.u32") || isAccess("ld", "v4.u32") ||
         isAccess("ld", "u64") || isAccess("ld", "v2.u64");
}

void ark::registerCudaBackend() {
  registerBackend(std::make_unique<CudaBackend>());
}
