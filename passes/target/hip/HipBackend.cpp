//===- HipBackend.cpp - Code generation for AMD GPUs ----------------------===//

#include "passes/target/hip/HipBackend.h"

#include "passes/kernel/KernelAbi.h"
#include "passes/target/hip/HipLowering.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/module/GpuLowering.h"

#include "lib/backend/GpuBackend.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

#include "passes/kernel/KernelTexts.h.inc"
#include "passes/target/hip/KernelTexts.h.inc"
#include "passes/target/packets/KernelTexts.h.inc"

using namespace mlir;
using namespace mlir::ark;

/// Threads per warp of the supported AMD GPUs.
static constexpr int64_t kWavefrontSize = abi::kHipWarpSize;

/// The code object version, which drivers from ROCm 5 on load.
static constexpr int32_t kCodeObjectVersion = 500;

/// Letters of LLVM's constraints for AMDGPU: vector, scalar and accumulation
/// registers, and immediates.
static constexpr llvm::StringLiteral kConstraints = "vsaIJABC";

/// Returns true for PTX, whose statements end with a semicolon and whose
/// registers begin with a percent sign. AMD's assembly has neither.
static bool hasPtx(LLVM::InlineAsmOp assembly) {
  return assembly.getAsmString().find_first_of(";%") != StringRef::npos;
}

namespace {
class HipBackend : public GpuBackend {
public:
  StringRef getName() const override { return "hip"; }

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
  Value createLoadFence(OpBuilder &builder, Location loc,
                        Value number) const override;

  Value createExp2(OpBuilder &builder, Location loc,
                   Value exponent) const override;
  /// Only the other maximum, which ignores NaN, is one instruction on all GPUs.
  bool hasMaximum() const override { return false; }
  Value joinHalves(OpBuilder &builder, Location loc, Value a, Value b,
                   bool areUpper) const override;
  Value createWarpPointer(OpBuilder &builder, Location loc,
                          Value base) const override;
  void awaitLoads(OpBuilder &builder, Location loc,
                  ValueRange loaded) const override;
  void keepOrder(OpBuilder &builder, Location loc) const override;
  Value createStreamingLoad(OpBuilder &builder, Location loc, Value pointer,
                            int64_t words) const override;

  bool isMachineDialect(const Dialect &dialect) const override {
    return isa<ROCDL::ROCDLDialect>(dialect);
  }
  StringRef getIntrinsicPrefix() const override { return "amdgcn"; }
  bool isOwnAssembly(LLVM::InlineAsmOp assembly) const override {
    return !hasPtx(assembly) && haveConstraints(assembly, kConstraints);
  }
  bool linksLibraries() const override { return false; }
  bool isPacketAccess(OpOperand &use, StringRef scope) const override;
  bool accessesNoMemory(Operation *op) const override {
    return isa<ROCDL::ReadfirstlaneOp>(op);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Kernel and lowering
//===----------------------------------------------------------------------===//

/// There is no text for the links between domains. The functions of these links
/// then have no bodies, and the check of the machine code reports them.
SmallVector<KernelText> HipBackend::getKernelTexts(RankLinks links) const {
  SmallVector<KernelText> texts = {
      kGpuResident,    kGpuPackets,
      kHipPacketWords, kGpuKernel,
      kGpuSemaphores,  links == RankLinks::None ? kLocalRanks : kGpuPeerRanks,
      kHipKernel,      kKernelTables};
  if (links == RankLinks::Peers)
    texts.push_back(kHipPeerStores);
  return texts;
}

void HipBackend::registerDialects(DialectRegistry &registry) const {
  registry.insert<ROCDL::ROCDLDialect>();
}

LogicalResult
HipBackend::buildLowering(OpPassManager &pm, TargetAttr target,
                          const LoweringOptions &,
                          function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(verifyWarpSize(target, kWavefrontSize, emitError)))
    return failure();
  buildHipLowering(pm, target.getArch(),
                   target.getWarps() * target.getWarpSize(),
                   target.getWarpSize());
  return success();
}

void HipBackend::registerLowering(DialectRegistry &registry) const {
  OpPassManager all(ModuleOp::getOperationName());
  buildHipLowering(all, /*arch=*/"", /*threads=*/kWavefrontSize,
                   kWavefrontSize);
  all.getDependentDialects(registry);
  registerGpuLowering(registry);
}

//===----------------------------------------------------------------------===//
// The gpu.module
//===----------------------------------------------------------------------===//

/// Sets the size of shared memory, which is a field of the code object.
void HipBackend::prepareFunctions(ModuleOp module, KernelOp kernel) const {
  setSharedMemorySize(module, kernel);
}

/// Sets the target attribute. The conversion to ROCDL adds the data layout.
void HipBackend::describeModule(gpu::GPUModuleOp gpuModule,
                                TargetAttr target) const {
  OpBuilder builder = OpBuilder::atBlockBegin(gpuModule.getBody());
  auto rocdl = ROCDL::ROCDLTargetAttr::get(
      gpuModule.getContext(), /*optLevel=*/3, "amdgcn-amd-amdhsa",
      target.getArch(), target.getGpu().getFeatures(),
      std::to_string(kCodeObjectVersion));
  gpuModule.setTargetsAttr(builder.getArrayAttr({rocdl}));
  auto version = LLVM::ModuleFlagAttr::get(
      gpuModule.getContext(), LLVM::ModFlagBehavior::Error,
      builder.getStringAttr("amdhsa_code_object_version"),
      builder.getI32IntegerAttr(kCodeObjectVersion));
  LLVM::ModuleFlagsOp::create(builder, gpuModule.getLoc(),
                              builder.getArrayAttr({version}));
}

/// Marks functions as convergent, because code with barriers must not move into
/// a branch. LLVM knows convergent instructions, but not convergent functions.
///
/// LLVM inlines all functions into the kernel, since a call would need a stack.
/// `always_inline` lets LLVM inline a function before it optimises the
/// function; otherwise LLVM optimises each function twice.
void HipBackend::describeFunctions(gpu::GPUModuleOp gpuModule,
                                   gpu::GPUFuncOp) const {
  auto unit = UnitAttr::get(gpuModule.getContext());
  for (auto function : gpuModule.getOps<func::FuncOp>()) {
    function->setAttr("convergent", unit);
    if (!function.isExternal())
      function->setAttr("always_inline", unit);
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

// LLVM's assembler for AMD GPUs accepts empty text, so that no instruction is
// needed.

Value HipBackend::createOpaqueNumber(OpBuilder &builder, Location loc,
                                     Value number) const {
  return createAssembly(builder, loc, number.getType(), number, "", "=v,0");
}

Value HipBackend::createLoadFence(OpBuilder &builder, Location loc,
                                  Value number) const {
  return createAssembly(builder, loc, number.getType(), number, "",
                        "=v,0,~{memory}");
}

/// The instruction may return zero instead of denormal numbers.
Value HipBackend::createExp2(OpBuilder &builder, Location loc,
                             Value exponent) const {
  return LLVM::CallIntrinsicOp::create(
             builder, loc, exponent.getType(),
             builder.getStringAttr("llvm.amdgcn.exp2"), exponent)
      .getResult(0);
}

/// LLVM does not always find the instruction that permutes bytes: 0 to 3 select
/// those of the second operand, and 4 to 7 those of the first one.
Value HipBackend::joinHalves(OpBuilder &builder, Location loc, Value a, Value b,
                             bool areUpper) const {
  Type word = builder.getI32Type();
  Value bytes = LLVM::ConstantOp::create(
      builder, loc, word,
      builder.getI32IntegerAttr(areUpper ? 0x07060302 : 0x05040100));
  return LLVM::CallIntrinsicOp::create(
             builder, loc, word, builder.getStringAttr("llvm.amdgcn.perm"),
             ValueRange{b, a, bytes})
      .getResult(0);
}

Value HipBackend::createWarpPointer(OpBuilder &builder, Location loc,
                                    Value base) const {
  // LLVM removes the instruction if it can tell that the pointer is the same
  // for the warp. Neither LICM nor strength reduction looks through the
  // assembly, whose result is in scalar registers.
  Type word = builder.getI64Type();
  Value address = LLVM::PtrToIntOp::create(builder, loc, word, base);
  Value common = ROCDL::ReadfirstlaneOp::create(builder, loc, word, address);
  Value opaque = createAssembly(builder, loc, word, common, "", "=s,0");
  return LLVM::IntToPtrOp::create(builder, loc, base.getType(), opaque);
}

/// LLVM waits for the operands of an instruction, also if it is empty.
void HipBackend::awaitLoads(OpBuilder &builder, Location loc,
                            ValueRange loaded) const {
  SmallVector<StringRef> constraints(loaded.size(), "v");
  LLVM::InlineAsmOp::create(
      builder, loc, /*res=*/TypeRange(), loaded, /*asm_string=*/"",
      llvm::join(constraints, ","), /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr(), /*operand_attrs=*/ArrayAttr());
}

void HipBackend::keepOrder(OpBuilder &builder, Location loc) const {
  // Instructions of no kind may cross.
  ROCDL::SchedBarrier::create(builder, loc, /*mask=*/0);
}

Value HipBackend::createStreamingLoad(OpBuilder &builder, Location loc,
                                      Value pointer, int64_t words) const {
  auto type = VectorType::get({words}, builder.getI32Type());
  return LLVM::LoadOp::create(builder, loc, type, pointer,
                              /*alignment=*/4 * words, /*isVolatile=*/false,
                              /*isNonTemporal=*/true);
}

//===----------------------------------------------------------------------===//
// Packets
//===----------------------------------------------------------------------===//

/// Returns true for a relaxed access to a whole word at the scope of packets.
template <typename AccessOp>
static bool isRelaxed(AccessOp op, Type type, StringRef scope) {
  return op.getOrdering() == LLVM::AtomicOrdering::monotonic &&
         op.getSyncscope().value_or("") == scope &&
         (type.isInteger(32) || type.isInteger(64)) &&
         8 * op.getAlignment().value_or(0) >= type.getIntOrFloatBitWidth();
}

/// Accesses of 128 bits are not atomic on AMD GPUs.
bool HipBackend::isPacketAccess(OpOperand &use, StringRef scope) const {
  if (auto load = dyn_cast<LLVM::LoadOp>(use.getOwner()))
    return isRelaxed(load, load.getType(), scope);
  auto store = dyn_cast<LLVM::StoreOp>(use.getOwner());
  return store && use.get() != store.getValue() &&
         isRelaxed(store, store.getValue().getType(), scope);
}

void ark::registerHipBackend() {
  registerBackend(std::make_unique<HipBackend>());
}
