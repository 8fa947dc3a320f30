//===- BuildGpuModule.cpp - Builds the gpu.module of a kernel -------------===//

#include "passes/target/module/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "lib/backend/GpuBackend.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/kernel/KernelAbi.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BUILDGPUMODULEPASS
#include "passes/target/module/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static constexpr llvm::StringLiteral kGpuModule = "ark_gpu";
/// The dispatch loop's name after the launched kernel has taken its old name.
static constexpr llvm::StringLiteral kDispatchLoop = "ark_dispatch_loop";
/// The function that reads the index of the lane again.
static constexpr llvm::StringLiteral kLane = "ark_lane";

/// Creates the module with the target attribute of the backend.
static gpu::GPUModuleOp createGpuModule(ModuleOp module, TargetAttr target,
                                        const GpuBackend &backend) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto gpuModule =
      gpu::GPUModuleOp::create(builder, module.getLoc(), kGpuModule);
  backend.describeModule(gpuModule, target);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  builder.getUnitAttr());
  return gpuModule;
}

/// Moves functions and globals to the GPU module; the tables of `ark.kernel`
/// stay. Functions become internal, so that fully inlined functions leave no
/// code.
static void moveSymbols(ModuleOp module, gpu::GPUModuleOp gpuModule) {
  auto internal =
      LLVM::LinkageAttr::get(module.getContext(), LLVM::Linkage::Internal);
  for (Operation &op : llvm::make_early_inc_range(module.getOps())) {
    if (!isa<func::FuncOp, LLVM::GlobalOp, LLVM::LLVMFuncOp>(op))
      continue;
    op.moveBefore(gpuModule.getBody(), gpuModule.getBody()->end());
    if (auto function = dyn_cast<func::FuncOp>(op);
        function && !function.isExternal())
      function->setAttr("llvm.linkage", internal);
  }
}

/// Checks the type of a function that the launched kernel calls.
static LogicalResult verifyType(func::FuncOp function, TypeRange inputs,
                                Type result) {
  auto expected = FunctionType::get(function.getContext(), inputs, result);
  if (function.getFunctionType() == expected)
    return success();
  return function.emitOpError("has type ")
         << function.getFunctionType() << ", and the kernel calls it as "
         << expected;
}

/// Checks the types of the functions that the launched kernel may call: the
/// loop, the loop of a resident kernel, and the function of the lane's index.
static LogicalResult verifyCallees(ModuleOp module, func::FuncOp loop) {
  MLIRContext *context = module.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto i32 = IntegerType::get(context, 32), i64 = IntegerType::get(context, 64);
  SymbolTable symbols(module);
  for (func::FuncOp work : {loop, symbols.lookup<func::FuncOp>(abi::kResident)})
    if (work && failed(verifyType(work, {pointer, i64}, i32)))
      return failure();
  auto lane = symbols.lookup<func::FuncOp>(kLane);
  return lane ? verifyType(lane, {}, i64) : success();
}

namespace {
struct BuildGpuModulePass
    : ark::impl::BuildGpuModulePassBase<BuildGpuModulePass> {
  using BuildGpuModulePassBase::BuildGpuModulePassBase;

  /// The attributes of the module belong to dialects of the backends.
  void getDependentDialects(DialectRegistry &registry) const override {
    BuildGpuModulePassBase::getDependentDialects(registry);
    for (const Backend *backend : getBackends())
      backend->registerDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = module.getOps<KernelOp>();
    if (kernels.empty())
      return;
    KernelOp kernel = *kernels.begin();
    auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    auto loop = SymbolTable(module).lookup<func::FuncOp>(kernel.getEntry());
    if (!target || !loop) {
      kernel.emitOpError("has no target, or no function '@")
          << kernel.getEntry() << "'";
      return signalPassFailure();
    }
    FailureOr<const Backend *> found = findBackend(module);
    if (failed(found))
      return signalPassFailure();
    const GpuBackend *backend = (*found)->asGpu();
    if (!backend) {
      kernel.emitOpError("is for ")
          << target.getBackend() << ", which is not a GPU";
      return signalPassFailure();
    }
    if (failed(verifyCallees(module, loop)))
      return signalPassFailure();
    backend->prepareFunctions(module, kernel);
    gpu::GPUModuleOp gpuModule = createGpuModule(module, target, *backend);
    moveSymbols(module, gpuModule);
    auto stay = SymbolTable(gpuModule).lookup<func::FuncOp>(abi::kResident);
    if (failed(SymbolTable::replaceAllSymbolUses(
            loop, StringAttr::get(&getContext(), kDispatchLoop), gpuModule)))
      return signalPassFailure();
    loop.setSymName(kDispatchLoop);
    loop.setPrivate();
    gpu::GPUFuncOp entry =
        createEntry(gpuModule, kernel.getEntry(), stay ? stay : loop);
    backend->describeFunctions(gpuModule, entry);
  }

private:
  gpu::GPUFuncOp createEntry(gpu::GPUModuleOp gpuModule, StringRef name,
                             func::FuncOp work);
};
} // namespace

/// Creates the launched kernel: CTA `i` runs lane `i`, and its leader stores
/// the return code for the host.
gpu::GPUFuncOp BuildGpuModulePass::createEntry(gpu::GPUModuleOp gpuModule,
                                               StringRef name,
                                               func::FuncOp work) {
  Location loc = work.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(gpuModule.getBody());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto entry = gpu::GPUFuncOp::create(builder, loc, name,
                                      builder.getFunctionType({pointer}, {}));
  entry->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                 builder.getUnitAttr());
  entry.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(threads), 1, 1});

  builder.setInsertionPointToEnd(&entry.getBody().front());
  Value context = entry.getArgument(0);
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x);
  Type i64 = builder.getI64Type();
  Value lane = arith::IndexCastOp::create(builder, loc, i64, block);
  Value code =
      func::CallOp::create(builder, loc, work, ValueRange{context, lane})
          .getResult(0);
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value leads = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                      thread, zero);
  Block *report = builder.createBlock(&entry.getBody());
  Block *end = builder.createBlock(&entry.getBody());
  gpu::ReturnOp::create(builder, loc);
  builder.setInsertionPointToEnd(&entry.getBody().front());
  cf::CondBranchOp::create(builder, loc, leads, report, end);

  builder.setInsertionPointToEnd(report);
  Value field = LLVM::GEPOp::create(builder, loc, pointer, i64, context,
                                    ArrayRef<LLVM::GEPArg>{abi::kCodes});
  Value codes = LLVM::LoadOp::create(builder, loc, pointer, field);
  if (auto again = SymbolTable(gpuModule).lookup<func::FuncOp>(kLane))
    lane = func::CallOp::create(builder, loc, again, ValueRange()).getResult(0);
  Value own = LLVM::GEPOp::create(builder, loc, pointer, builder.getI32Type(),
                                  codes, ArrayRef<LLVM::GEPArg>{lane});
  LLVM::StoreOp::create(builder, loc, code, own);
  cf::BranchOp::create(builder, loc, end);
  return entry;
}
