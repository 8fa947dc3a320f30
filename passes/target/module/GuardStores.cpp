//===- GuardStores.cpp - Skip the stores at an index out of bounds --------===//

#include "passes/target/module/Passes.h"

#include "dialects/ark/ArkOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::ark {
#define GEN_PASS_DEF_GUARDSTORESPASS
#include "passes/target/module/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns true if an operand of a store is a part of the address, and false if
/// it is the stored value. Returns nothing if the owner is no store.
static std::optional<bool> isAddressOfStore(OpOperand &use) {
  return llvm::TypeSwitch<Operation *, std::optional<bool>>(use.getOwner())
      .Case<memref::StoreOp>(
          [&](auto store) { return use != store.getValueMutable(); })
      .Case<vector::StoreOp, vector::TransferWriteOp>(
          [&](auto store) { return use != store.getValueToStoreMutable(); })
      .Default([](Operation *) { return std::nullopt; });
}

namespace {
/// The stores whose address depends on one index.
class DependentStores {
public:
  LogicalResult collect(StoreIndexOp index);
  ArrayRef<Operation *> getStores() const { return stores.getArrayRef(); }

private:
  LogicalResult visit(OpOperand &use);
  LogicalResult visitControlFlow(OpOperand &use);
  void add(Value value) { values.insert(value); }

  llvm::SetVector<Value> values;
  llvm::SetVector<Operation *> stores;
};
} // namespace

/// Visits a use by an op with regions or by a terminator. Refuses ops that pass
/// the value on to another iteration or out of the region, where the result of
/// the comparison of the index does not exist.
LogicalResult DependentStores::visitControlFlow(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<scf::IfOp>(op))
    return success();
  auto loop = dyn_cast<scf::ForOp>(op);
  // The number of iterations does not move an address.
  if (loop && use == loop.getUpperBoundMutable())
    return success();
  if (loop && use == loop.getLowerBoundMutable()) {
    add(loop.getInductionVar());
    return success();
  }
  return op->emitOpError("passes on an index that is only valid at run time, "
                         "or a value that depends on it");
}

LogicalResult DependentStores::visit(OpOperand &use) {
  Operation *op = use.getOwner();
  if (std::optional<bool> isAddress = isAddressOfStore(use)) {
    if (*isAddress)
      stores.insert(op);
    return success();
  }
  if (op->getNumRegions() > 0 || op->hasTrait<OpTrait::IsTerminator>())
    return visitControlFlow(use);
  // A loaded value is data. A store whose address depends on loaded data is not
  // guarded.
  if (hasSingleEffect<MemoryEffects::Read>(op))
    return success();
  // A number is not an address: a function that gets it, for example to report
  // it, cannot write there.
  if (isa<func::CallOp>(op) && use.get().getType().isIntOrIndexOrFloat())
    return success();
  if (!isMemoryEffectFree(op))
    return op->emitOpError("writes at an index that is only valid at run time, "
                           "in a way that cannot be skipped");
  for (Value result : op->getResults())
    add(result);
  return success();
}

LogicalResult DependentStores::collect(StoreIndexOp index) {
  add(index);
  // The loop inserts into `values`.
  for (size_t i = 0; i < values.size(); ++i)
    for (OpOperand &use : values[i].getUses())
      if (failed(visit(use)))
        return failure();
  return success();
}

/// Executes a store only if `inside` is true.
static void guard(Operation *store, Value inside) {
  OpBuilder builder(store);
  auto branch = scf::IfOp::create(builder, store->getLoc(), inside,
                                  /*withElseRegion=*/false);
  store->moveBefore(branch.thenBlock()->getTerminator());
}

namespace {
struct GuardStoresPass : ark::impl::GuardStoresPassBase<GuardStoresPass> {
  using GuardStoresPassBase::GuardStoresPassBase;

  void runOnOperation() override {
    SmallVector<StoreIndexOp> indices;
    getOperation().walk([&](StoreIndexOp index) { indices.push_back(index); });
    for (StoreIndexOp index : indices)
      if (failed(lower(index)))
        return signalPassFailure();
  }

private:
  LogicalResult lower(StoreIndexOp index);
};
} // namespace

LogicalResult GuardStoresPass::lower(StoreIndexOp index) {
  DependentStores dependent;
  if (failed(dependent.collect(index)))
    return failure();
  OpBuilder builder(index);
  Location loc = index.getLoc();
  // The unsigned comparison also rejects negative indices.
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       index.getIndex(), index.getBound());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value valid =
      arith::SelectOp::create(builder, loc, inside, index.getIndex(), zero);
  for (Operation *store : dependent.getStores())
    guard(store, inside);
  numGuarded += dependent.getStores().size();
  index.replaceAllUsesWith(valid);
  index.erase();
  return success();
}
