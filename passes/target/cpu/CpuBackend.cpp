//===- CpuBackend.cpp - Code generation for processors --------------------===//

#include "passes/target/cpu/CpuBackend.h"

#include "passes/target/cpu/CpuLowering.h"

#include "lib/backend/Backend.h"

#include "dialects/ark/ArkAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/Threading.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include "passes/kernel/KernelTexts.h.inc"
#include "passes/target/cpu/KernelTexts.h.inc"
#include "passes/target/packets/KernelTexts.h.inc"

using namespace mlir;
using namespace mlir::ark;

/// Maximum number of workers.
static constexpr int64_t kMaxWorkers = 4096;

/// Function that waits for a moment in a loop that polls memory.
static constexpr llvm::StringLiteral kPauseFunction = "ark_pause";

static llvm::Triple getHost() {
  return llvm::Triple(llvm::sys::getDefaultTargetTriple());
}

/// Returns the rates of one core with wide vectors, multiplied by the number of
/// workers. A worker represents a core even on a machine with fewer cores, so
/// that a program compiled for cpu:N is the same on every machine.
static TargetAttr getTarget(MLIRContext *context, int64_t workers) {
  // A lane is one thread, whatever its number of warps. An SM with several
  // warps can have several lanes.
  return TargetAttr::get(context, kCpuBackend, "host", workers, /*warps=*/8,
                         /*sharedMemory=*/256 << 10, /*bandwidth=*/10 * workers,
                         /*flops=*/80 * workers, /*handoff=*/200,
                         /*barrier=*/400, /*overhead=*/50, /*gpu=*/GpuAttr());
}

namespace {
class CpuBackend : public Backend {
public:
  StringRef getName() const override { return kCpuBackend; }

  SmallVector<std::string> getTargetNames() const override {
    return {"cpu", "cpu:<workers>"};
  }
  FailureOr<TargetAttr> parseTarget(std::optional<StringRef> arch,
                                    Location loc) const override;

  SmallVector<KernelText> getKernelTexts(RankLinks) const override {
    return {kCpuKernel, kCpuSemaphores, kCpuPackets, kKernelTables};
  }
  void buildKernelFunctions(SymbolTable &symbols) const override;
  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }

  LogicalResult
  buildLowering(OpPassManager &pm, TargetAttr, const LoweringOptions &options,
                function_ref<InFlightDiagnostic()>) const override {
    buildCpuLowering(pm, options.vectorElements);
    return success();
  }
  void registerLowering(DialectRegistry &registry) const override;

  StringRef getIntrinsicPrefix() const override {
    return llvm::Triple::getArchTypePrefix(getHost().getArch());
  }
  bool isPacketAccess(OpOperand &use, StringRef scope) const override;
};
} // namespace

/// Takes the number of workers. Without a number, there is one worker for every
/// core of this machine.
FailureOr<TargetAttr> CpuBackend::parseTarget(std::optional<StringRef> arch,
                                              Location loc) const {
  int64_t workers = llvm::hardware_concurrency().compute_thread_count();
  if (arch &&
      (arch->getAsInteger(10, workers) || workers < 1 || workers > kMaxWorkers))
    return emitError(loc) << "target 'cpu:" << *arch
                          << "': the number of workers is not in 1.."
                          << kMaxWorkers;
  return getTarget(loc.getContext(), workers);
}

/// Builds the body of `ark_pause`: the spin-wait hint of this machine's
/// instruction set.
void CpuBackend::buildKernelFunctions(SymbolTable &symbols) const {
  auto pause = symbols.lookup<func::FuncOp>(kPauseFunction);
  if (!pause)
    return;
  OpBuilder builder = OpBuilder::atBlockBegin(pause.addEntryBlock());
  Location loc = pause.getLoc();
  llvm::Triple triple = getHost();
  if (triple.isX86()) {
    LLVM::CallIntrinsicOp::create(builder, loc,
                                  builder.getStringAttr("llvm.x86.sse2.pause"),
                                  ValueRange());
  } else if (triple.isAArch64()) {
    Value yield = arith::ConstantIntOp::create(builder, loc, 1, 32);
    LLVM::CallIntrinsicOp::create(builder, loc,
                                  builder.getStringAttr("llvm.aarch64.hint"),
                                  ValueRange{yield});
  }
  func::ReturnOp::create(builder, loc);
}

void CpuBackend::registerLowering(DialectRegistry &registry) const {
  OpPassManager all(ModuleOp::getOperationName());
  buildCpuLowering(all, /*vectorElements=*/0);
  all.getDependentDialects(registry);
}

/// Stores of 64 bits with release ordering send packets.
bool CpuBackend::isPacketAccess(OpOperand &use, StringRef) const {
  auto store = dyn_cast<LLVM::StoreOp>(use.getOwner());
  return store && use.get() == store.getAddr() &&
         use.get() != store.getValue() &&
         store.getValue().getType().isInteger(64) &&
         store.getOrdering() == LLVM::AtomicOrdering::release;
}

void ark::registerCpuBackend() {
  registerBackend(std::make_unique<CpuBackend>());
}
