//===- LowerCheckIndex.cpp - Lower ark.check_index to a comparison --------===//

#include "dialects/ark/ArkOps.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::ark {
#define GEN_PASS_DEF_LOWERCHECKINDEXPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the function that records an index, and declares it if it is
/// missing.
static func::FuncOp getReporter(ModuleOp module, Type statusType) {
  SymbolTable symbols(module);
  if (auto function = symbols.lookup<func::FuncOp>(abi::kReportIndex))
    return function;
  OpBuilder builder(module.getContext());
  Type index = builder.getIndexType();
  auto function = func::FuncOp::create(
      module.getLoc(), abi::kReportIndex,
      builder.getFunctionType({statusType, index, index, index}, {}));
  function.setPrivate();
  symbols.insert(function);
  return function;
}

/// Creates the index that the op returns.
static Value createValid(OpBuilder &builder, CheckIndexOp check,
                         Value outside) {
  Location loc = check.getLoc();
  if (check.getStores())
    return StoreIndexOp::create(builder, loc, check.getIndex(),
                                check.getBound());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  return arith::SelectOp::create(builder, loc, outside, zero, check.getIndex());
}

/// Returns the number of a task, with the number of a sequence plus one in the
/// upper half if there is a sequence.
static Value nameSequence(OpBuilder &builder, Location loc, Value task,
                          Value sequence) {
  if (!sequence)
    return task;
  auto constant = [&](int64_t number) {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  Value number = arith::AddIOp::create(builder, loc, sequence, constant(1));
  Value upper = arith::ShLIOp::create(builder, loc, number,
                                      constant(abi::kStatusSequenceShift));
  return arith::OrIOp::create(builder, loc, task, upper);
}

static LogicalResult lower(CheckIndexOp check) {
  auto body = check->getParentOfType<func::FuncOp>();
  if (!body || body.getNumArguments() < abi::kBodyOperands)
    return check.emitOpError("is not in the body of a task");
  Value task = body.getArgument(abi::kBodyTask);
  Value status = body.getArgument(abi::kBodyStatus);

  OpBuilder builder(check);
  Location loc = check.getLoc();
  // The unsigned comparison also rejects negative indices.
  Value outside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge,
                                        check.getIndex(), check.getBound());
  Value valid = createValid(builder, check, outside);
  auto branch = scf::IfOp::create(builder, loc, outside,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  func::FuncOp reporter =
      getReporter(check->getParentOfType<ModuleOp>(), status.getType());
  func::CallOp::create(
      builder, loc, reporter,
      ValueRange{status, check.getIndex(), check.getBound(),
                 nameSequence(builder, loc, task, check.getSequence())});
  check.replaceAllUsesWith(valid);
  check.erase();
  return success();
}

namespace {
struct LowerCheckIndexPass
    : ark::impl::LowerCheckIndexPassBase<LowerCheckIndexPass> {
  using LowerCheckIndexPassBase::LowerCheckIndexPassBase;

  void runOnOperation() override {
    SmallVector<CheckIndexOp> checks;
    getOperation().walk([&](CheckIndexOp check) { checks.push_back(check); });
    for (CheckIndexOp check : checks) {
      if (failed(lower(check)))
        return signalPassFailure();
      ++numChecks;
    }
  }
};
} // namespace
