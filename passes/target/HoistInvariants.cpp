//===- HoistInvariants.cpp - What all vCTAs of a run share ----------------===//

#include "passes/target/Aliasing.h"
#include "passes/target/Bodies.h"
#include "passes/target/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::ark {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Whether the op does the same for every vCTA, as far as its operands tell.
static bool isCandidate(linalg::LinalgOp op, scf::ForOp vctas) {
  if (!op.hasPureBufferSemantics() ||
      !llvm::all_of(op->getOperands(), [&](Value operand) {
        return vctas.isDefinedOutsideOfLoop(operand);
      }))
    return false;
  for (Operation &inner : op.getBlock()->without_terminator())
    if (!isMemoryEffectFree(&inner))
      return false;
  // A body may use what is computed around its op, too.
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  if (!llvm::all_of(captured, [&](Value value) {
        return vctas.isDefinedOutsideOfLoop(value);
      }))
    return false;
  return llvm::all_of(op.getDpsInits(), [](Value init) {
    return static_cast<bool>(getRoot(init).getDefiningOp<memref::AllocaOp>());
  });
}

/// Whether `writer` may change what `op` reads or writes.
static bool writesOperand(linalg::LinalgOp writer, linalg::LinalgOp op) {
  for (Value written : writer.getDpsInits())
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()) && mayAlias(written, operand))
        return true;
  return false;
}

/// Whether `op` cannot move while `other` stays: it reads or writes what the
/// other writes, or the other comes first and needs what was there before.
static bool depends(linalg::LinalgOp op, linalg::LinalgOp other) {
  return writesOperand(other, op) ||
         (other->isBeforeInBlock(op) && writesOperand(op, other));
}

namespace {
/// Splits the ops of a loop into those that move and those that stay.
class InvariantFinder {
public:
  explicit InvariantFinder(scf::ForOp vctas) : vctas(vctas) {}

  /// In their order.
  SmallVector<linalg::LinalgOp> find();

private:
  bool collect();
  bool dropOne();

  scf::ForOp vctas;
  SmallVector<linalg::LinalgOp> moving, staying;
};
} // namespace

/// Whether all ops that write are known to write to their operands only.
bool InvariantFinder::collect() {
  for (Operation &op : vctas.getBody()->without_terminator()) {
    if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
      (isCandidate(structured, vctas) ? moving : staying).push_back(structured);
      continue;
    }
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
        getEffectsRecursively(&op);
    if (!effects || llvm::any_of(*effects, [](auto &effect) {
          return isa<MemoryEffects::Write, MemoryEffects::Free>(
              effect.getEffect());
        }))
      return false;
  }
  return true;
}

/// Leaves one op where it is that depends on another that stays.
bool InvariantFinder::dropOne() {
  for (auto *op = moving.begin(); op != moving.end(); ++op)
    if (llvm::any_of(staying, [&](linalg::LinalgOp other) {
          return depends(*op, other);
        })) {
      staying.push_back(*op);
      moving.erase(op);
      return true;
    }
  return false;
}

SmallVector<linalg::LinalgOp> InvariantFinder::find() {
  if (!collect())
    return {};
  while (dropOne())
    ;
  return moving;
}

namespace {
struct HoistInvariantsPass
    : ark::impl::HoistInvariantsPassBase<HoistInvariantsPass> {
  using HoistInvariantsPassBase::HoistInvariantsPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body))
        for (linalg::LinalgOp op : InvariantFinder(vctas).find()) {
          op->moveBefore(vctas);
          ++numHoisted;
        }
  }
};
} // namespace
