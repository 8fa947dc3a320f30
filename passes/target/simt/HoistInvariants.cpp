//===- HoistInvariants.cpp - Hoists ops that all vCTAs share --------------===//

#include "lib/support/QuantizedProducts.h"
#include "passes/target/simt/Passes.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/Bodies.h"

#include "dialects/ark/ArkOps.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::ark {
#define GEN_PASS_DEF_HOISTINVARIANTSPASS
#include "passes/target/simt/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns true if the body of an op does not access memory.
static bool isPure(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() &&
         llvm::all_of(
             op.getBlock()->without_terminator(),
             [](Operation &inner) { return isMemoryEffectFree(&inner); });
}

/// Returns true if the operands of an op do not depend on the vCTA.
static bool isCandidate(linalg::LinalgOp op, scf::ForOp vctas) {
  if (!isPure(op) || !llvm::all_of(op->getOperands(), [&](Value operand) {
        return vctas.isDefinedOutsideOfLoop(operand);
      }))
    return false;
  // A body may also use values that are defined outside of its op.
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
/// Divides the ops of a loop into those that move and those that stay.
class InvariantFinder {
public:
  explicit InvariantFinder(scf::ForOp vctas) : vctas(vctas) {}

  /// Returns the ops that move, in program order.
  SmallVector<Operation *> find();

private:
  void collect();
  void keepDependent(Operation *op);

  scf::ForOp vctas;
  SetVector<Operation *> moving;
  SmallVector<Operation *> staying;
  /// The accesses of every op that accesses memory.
  llvm::MapVector<Operation *, SmallVector<Access>> accesses;
};
} // namespace

void InvariantFinder::collect() {
  for (Operation &op : vctas.getBody()->without_terminator()) {
    SmallVector<Access> touched = getAccesses(&op);
    if (touched.empty())
      continue;
    accesses[&op] = std::move(touched);
    auto structured = dyn_cast<linalg::LinalgOp>(op);
    bool receives = isa<ReceivePacketsOp>(op) &&
                    llvm::all_of(op.getOperands(), [&](Value operand) {
                      return vctas.isDefinedOutsideOfLoop(operand);
                    });
    // A load, such as that of a cache's length, moves as well: inside of the
    // loop, it would follow the receive of packets.
    bool loads = isa<memref::LoadOp>(op) &&
                 llvm::all_of(op.getOperands(), [&](Value operand) {
                   return vctas.isDefinedOutsideOfLoop(operand);
                 });
    if (receives || loads || (structured && isCandidate(structured, vctas)))
      moving.insert(&op);
    else
      staying.push_back(&op);
  }
}

/// Keeps in the loop the ops that depend on `op`, which stays: ops that use
/// memory that `op` writes, and ops that overwrite memory that `op` reads
/// first.
void InvariantFinder::keepDependent(Operation *op) {
  for (auto &entry : accesses) {
    Operation *other = entry.first;
    bool depends = llvm::any_of(entry.second, [&](const Access &access) {
      return llvm::any_of(accesses[op], [&](const Access &own) {
        return conflict(own, access) &&
               (own.writes || op->isBeforeInBlock(other));
      });
    });
    if (depends && moving.remove(other))
      staying.push_back(other);
  }
}

SmallVector<Operation *> InvariantFinder::find() {
  collect();
  while (!staying.empty())
    keepDependent(staying.pop_back_val());
  return moving.takeVector();
}

/// Returns true if the task has one vCTA, which computes a product. Its ops
/// would move without gain, and the product would lose its epilogue.
static bool isSingleProduct(scf::ForOp vctas) {
  return vctas.getInductionVar().use_empty() &&
         llvm::any_of(vctas.getBody()->getOps<linalg::LinalgOp>(),
                      [](linalg::LinalgOp op) {
                        return linalg::isaContractionOpInterface(op) ||
                               matchQuantizedProduct(op);
                      });
}

namespace {
struct HoistInvariantsPass
    : ark::impl::HoistInvariantsPassBase<HoistInvariantsPass> {
  using HoistInvariantsPassBase::HoistInvariantsPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (scf::ForOp vctas = getVctaLoop(body);
          vctas && !isSingleProduct(vctas)) {
        // Views move first, so that their users can follow.
        moveLoopInvariantCode(vctas);
        for (Operation *op : InvariantFinder(vctas).find()) {
          op->moveBefore(vctas);
          ++numHoisted;
        }
      }
  }
};
} // namespace
