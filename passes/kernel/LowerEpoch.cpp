//===- LowerEpoch.cpp - Packets get the number of the iteration -----------===//

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

/// Declares the function that gives the epoch, where it is not there yet.
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
    // Who polls for packets by itself knows where the epoch is.
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

/// It is read where the body begins: loops around its use need not look again.
LogicalResult LowerEpochPass::lower(EpochOp epoch) {
  auto body = epoch->getParentOfType<func::FuncOp>();
  if (!body || body.getNumArguments() < abi::kBodyOperands)
    return epoch.emitOpError("is not in the body of a task");
  auto target =
      getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
  auto builder = OpBuilder::atBlockBegin(&body.getBody().front());
  Value value;
  if (target && target.isGpu()) {
    // Nobody looks at it: there a counter says that packets are there.
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
