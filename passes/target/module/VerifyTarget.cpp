//===- VerifyTarget.cpp - Checks the code of the target stage -------------===//

#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/module/Passes.h"
#include "passes/target/packets/PacketAccesses.h"

#include "dialects/ark/ArkOps.h"
#include "lib/backend/GpuBackend.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/IR/Intrinsics.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYTARGETPASS
#include "passes/target/module/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns true if the backend can translate the op to machine code.
static bool isCode(Operation *op, const Backend &backend) {
  Dialect *dialect = op->getDialect();
  return isa_and_present<LLVM::LLVMDialect>(dialect) ||
         (dialect && backend.isMachineDialect(*dialect));
}

/// Returns true for intrinsics of other machines.
static bool isForeignIntrinsic(LLVM::CallIntrinsicOp call,
                               const Backend &backend) {
  StringRef name = call.getIntrin();
  if (!llvm::Intrinsic::isTargetIntrinsic(
          llvm::Intrinsic::lookupIntrinsicID(name)))
    return false;
  return !name.starts_with(
      ("llvm." + backend.getIntrinsicPrefix() + ".").str());
}

/// Returns true for intrinsics and inline assembly of other machines.
static bool isForeign(Operation *op, const Backend &backend) {
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op))
    return isForeignIntrinsic(call, backend);
  auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
  return assembly && !backend.isOwnAssembly(assembly);
}

/// Returns true for a load or a store of `i1` or of a vector of `i1`.
static bool accessesBits(Operation *op) {
  Type type;
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    type = load.getType();
  else if (auto store = dyn_cast<LLVM::StoreOp>(op))
    type = store.getValue().getType();
  return type && getElementTypeOrSelf(type).isInteger(1);
}

/// Checks that all ops except the tables and the gpu.module can be translated.
static LogicalResult verifyOps(Operation *container, const Backend &backend) {
  WalkResult walk = container->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isForeign(op, backend)) {
      op->emitOpError("is code for another backend than ")
          << backend.getName() << " (target_c7)";
      return WalkResult::interrupt();
    }
    if (accessesBits(op)) {
      op->emitOpError("accesses bits: booleans take a byte each (target_c9)");
      return WalkResult::interrupt();
    }
    if (op == container || isCode(op, backend) || isa<gpu::GPUModuleOp>(op))
      return WalkResult::advance();
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    op->emitOpError("cannot be translated to machine code (target_c1)");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Returns the op that contains the functions: the module or its gpu.module.
static FailureOr<Operation *> getContainer(ModuleOp module,
                                           const GpuBackend *gpu) {
  if (!gpu)
    return module.getOperation();
  auto gpuModules = module.getOps<gpu::GPUModuleOp>();
  if (!llvm::hasSingleElement(gpuModules))
    return module.emitError("does not have exactly one gpu.module (target_c2)");
  gpu::GPUModuleOp gpuModule = *gpuModules.begin();
  if (gpu->needsModuleTargets() && !gpuModule.getTargetsAttr())
    return gpuModule.emitOpError("names no target (target_c2)");
  return gpuModule.getOperation();
}

/// Checks that the entry is visible from outside and has the type `int32_t
/// (const ArkContext *, int64_t)`, or for a GPU `void (const ArkContext *)`.
static LogicalResult verifyEntry(KernelOp kernel, Operation *container,
                                 bool isGpu) {
  auto entry = dyn_cast_or_null<LLVM::LLVMFuncOp>(
      SymbolTable::lookupSymbolIn(container, kernel.getEntryAttr().getAttr()));
  if (!entry || entry.isExternal())
    return kernel.emitOpError("has no code for its entry '@")
           << kernel.getEntry() << "' (target_c3)";
  MLIRContext *context = kernel.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  auto expected = isGpu ? LLVM::LLVMFunctionType::get(
                              LLVM::LLVMVoidType::get(context), {pointer})
                        : LLVM::LLVMFunctionType::get(i32, {pointer, i64});
  if (entry.getFunctionType() != expected)
    return entry.emitOpError("has type ")
           << entry.getFunctionType() << ", but an entry has type " << expected
           << " (target_c3)";
  if (entry.getLinkage() != LLVM::Linkage::External)
    return entry.emitOpError("is the entry but is not visible (target_c3)");
  return success();
}

static LogicalResult verifyBodies(KernelOp kernel, Operation *container) {
  for (auto entry : kernel.getBodies().getAsRange<DictionaryAttr>()) {
    auto name = entry.getAs<FlatSymbolRefAttr>("function");
    auto body = dyn_cast_or_null<LLVM::LLVMFuncOp>(
        name ? SymbolTable::lookupSymbolIn(container, name.getAttr())
             : nullptr);
    if (!body || body.isExternal())
      return kernel.emitOpError("has no code for body ")
             << entry << " (target_c4)";
  }
  return success();
}

/// Checks that every called function has a body if the backend links no
/// library.
static LogicalResult verifyCalls(Operation *container, const Backend &backend) {
  if (backend.linksLibraries())
    return success();
  for (auto function : container->getRegion(0).getOps<LLVM::LLVMFuncOp>())
    if (function.isExternal())
      return function.emitOpError("is called but has no body, and ")
             << backend.getName() << " has no library (target_c5)";
  return success();
}

static LogicalResult verifySharedMemory(KernelOp kernel, TargetAttr target) {
  if (!target || !target.isGpu() ||
      getSharedBytes(kernel) <= target.getSharedMemory())
    return success();
  return kernel.emitOpError("takes ")
         << getSharedBytes(kernel) << " bytes of shared memory, and an SM has "
         << target.getSharedMemory() << " (target_c8)";
}

namespace {
struct VerifyTargetPass : ark::impl::VerifyTargetPassBase<VerifyTargetPass> {
  using VerifyTargetPassBase::VerifyTargetPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (module.getOps<KernelOp>().empty())
      return;
    auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    FailureOr<const Backend *> backend = findBackend(module);
    if (failed(backend))
      return signalPassFailure();
    const GpuBackend *gpu = (*backend)->asGpu();
    FailureOr<Operation *> container = getContainer(module, gpu);
    if (failed(container) || failed(verifyOps(module, **backend)))
      return signalPassFailure();
    for (auto kernel : module.getOps<KernelOp>())
      if (failed(verifyEntry(kernel, *container, /*isGpu=*/gpu)) ||
          failed(verifyBodies(kernel, *container)) ||
          failed(verifyPacketAccesses(kernel, *container, target, **backend)) ||
          failed(verifySharedMemory(kernel, target)))
        return signalPassFailure();
    if (failed(verifyCalls(*container, **backend)))
      signalPassFailure();
  }
};
} // namespace
