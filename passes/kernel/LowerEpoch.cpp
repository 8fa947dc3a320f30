//===- LowerEpoch.cpp - Lower ark.epoch to the iteration number -----------===//

#include "dialects/ark/ArkOps.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_LOWEREPOCHPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the function that returns the epoch, and declares it if it is
/// missing.
static func::FuncOp getFunction(ModuleOp module, Type statusType) {
  SymbolTable symbols(module);
  if (auto function = symbols.lookup<func::FuncOp>(abi::kEpochFunction))
    return function;
  OpBuilder builder(module.getContext());
  auto function = func::FuncOp::create(
      module.getLoc(), abi::kEpochFunction,
      builder.getFunctionType(statusType, builder.getI32Type()));
  function.setPrivate();
  symbols.insert(function);
  return function;
}

namespace {
struct LowerEpochPass : ark::impl::LowerEpochPassBase<LowerEpochPass> {
  using LowerEpochPassBase::LowerEpochPassBase;

  void runOnOperation() override {
    // Packets between tasks get their epoch from `ark-send-packets`.
    if (llvm::any_of(getOperation().getOps<KernelOp>(), [](KernelOp kernel) {
          return kernel.getPackets().has_value();
        }))
      return;
    SmallVector<EpochOp> epochs;
    getOperation().walk([&](EpochOp epoch) { epochs.push_back(epoch); });
    for (EpochOp epoch : epochs)
      if (failed(lower(epoch)))
        return signalPassFailure();
  }

  LogicalResult lower(EpochOp epoch);
};
} // namespace

/// The epoch is read at the start of the body, so that loops around its uses do
/// not read it again.
LogicalResult LowerEpochPass::lower(EpochOp epoch) {
  auto body = epoch->getParentOfType<func::FuncOp>();
  if (!body || body.getNumArguments() < abi::kBodyOperands)
    return epoch.emitOpError("is not in the body of a task");
  auto target =
      getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  auto builder = OpBuilder::atBlockBegin(&body.getBody().front());
  Value value;
  if (target && target.isGpu()) {
    // No reader compares the epoch on a GPU: a counter signals these packets.
    value = arith::ConstantIntOp::create(builder, epoch.getLoc(), 1, 32);
  } else {
    Value status = body.getArgument(abi::kBodyStatus);
    func::FuncOp function = getFunction(getOperation(), status.getType());
    value = func::CallOp::create(builder, epoch.getLoc(), function, status)
                .getResult(0);
  }
  epoch.replaceAllUsesWith(value);
  epoch.erase();
  return success();
}
