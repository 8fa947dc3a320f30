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

/// Whether the body of an op touches no memory by itself.
static bool isPure(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() &&
         llvm::all_of(
             op.getBlock()->without_terminator(),
             [](Operation &inner) { return isMemoryEffectFree(&inner); });
}

/// Whether an op reads its operands, and does nothing else.
static bool isPlainRead(Operation &op) {
  return op.getNumRegions() == 0 && hasSingleEffect<MemoryEffects::Read>(&op);
}

/// Whether the op does the same for every vCTA, as far as its operands tell.
static bool isCandidate(linalg::LinalgOp op, scf::ForOp vctas) {
  if (!llvm::all_of(op->getOperands(), [&](Value operand) {
        return vctas.isDefinedOutsideOfLoop(operand);
      }))
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

namespace {
/// An op and a buffer that it reads or writes.
struct Use {
  Operation *op;
  bool writes;
};

/// Splits the ops of a loop into those that move and those that stay.
class InvariantFinder {
public:
  explicit InvariantFinder(scf::ForOp vctas) : vctas(vctas) {}

  /// In their order.
  SmallVector<linalg::LinalgOp> find();

private:
  bool collect();
  void addUses(Operation *op);
  void keepDependent(Operation *op);

  scf::ForOp vctas;
  SetVector<Operation *> moving;
  SmallVector<Operation *> staying;
  /// By root; those that may be the same memory are under one.
  DenseMap<Value, SmallVector<Use>> uses;
};
} // namespace

static bool writes(Operation *op, Value buffer) {
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured && llvm::is_contained(structured.getDpsInits(), buffer);
}

/// Arguments that do not say otherwise may all be the same memory.
static Value getMemory(Value buffer) {
  Value root = getRoot(buffer);
  return isNoAlias(root) ? root : Value();
}

void InvariantFinder::addUses(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()))
      uses[getMemory(operand)].push_back({op, writes(op, operand)});
}

/// Whether all ops are known to read and write their operands only.
bool InvariantFinder::collect() {
  for (Operation &op : vctas.getBody()->without_terminator()) {
    // Views touch no memory.
    if (isMemoryEffectFree(&op))
      continue;
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    if (structured ? !isPure(structured) : !isPlainRead(op))
      return false;
    addUses(&op);
    if (structured && isCandidate(structured, vctas))
      moving.insert(&op);
    else
      staying.push_back(&op);
  }
  return true;
}

/// What uses memory that `op` writes stays with it; so does what would write,
/// too early, what `op` reads.
void InvariantFinder::keepDependent(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (!isa<MemRefType>(operand.getType()))
      continue;
    bool isWritten = writes(op, operand);
    for (Use use : uses[getMemory(operand)])
      if ((isWritten || (use.writes && op->isBeforeInBlock(use.op))) &&
          moving.remove(use.op))
        staying.push_back(use.op);
  }
}

SmallVector<linalg::LinalgOp> InvariantFinder::find() {
  if (!collect())
    return {};
  while (!staying.empty())
    keepDependent(staying.pop_back_val());
  return llvm::map_to_vector(
      moving, [](Operation *op) { return cast<linalg::LinalgOp>(op); });
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
