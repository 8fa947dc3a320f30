//===- DeduplicateBodies.cpp - Share functions between equal bodies -------===//

#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkOps.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OperationSupport.h"

namespace mlir::ark {
#define GEN_PASS_DEF_DEDUPLICATEBODIESPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the same hash for equal functions. Attributes and types are uniqued,
/// so their pointers are hashed.
static llvm::hash_code hashBody(func::FuncOp function) {
  llvm::hash_code hash = llvm::hash_combine(
      function.getFunctionType().getAsOpaquePointer(),
      Attribute(function.getArgAttrsAttr()).getAsOpaquePointer());
  function.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, op->getName().getAsOpaquePointer(),
        op->getDiscardableAttrDictionary().getAsOpaquePointer(),
        op->hashProperties(), op->getNumOperands());
  });
  return hash;
}

static bool areEqual(func::FuncOp a, func::FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         a.getArgAttrsAttr() == b.getArgAttrsAttr() &&
         a->hasAttr(kNetworkCopyAttr) == b->hasAttr(kNetworkCopyAttr) &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

namespace {
struct DeduplicateBodiesPass
    : ark::impl::DeduplicateBodiesPassBase<DeduplicateBodiesPass> {
  using DeduplicateBodiesPassBase::DeduplicateBodiesPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    getOperation().walk([&](TaskOp task) {
      auto body = task->getAttrOfType<FlatSymbolRefAttr>(kOutlinedBodyAttr);
      auto function =
          body ? symbols.lookup<func::FuncOp>(body.getAttr()) : nullptr;
      if (!function)
        return;
      func::FuncOp kept = findEqual(function);
      task->setAttr(kOutlinedBodyAttr, FlatSymbolRefAttr::get(kept));
      if (kept != function) {
        symbols.erase(function);
        ++numMerged;
      }
    });
    bodies.clear();
  }

private:
  /// Returns the first function that equals `function`, maybe `function`
  /// itself.
  func::FuncOp findEqual(func::FuncOp function) {
    SmallVector<func::FuncOp> &candidates = bodies[hashBody(function)];
    for (func::FuncOp candidate : candidates)
      if (candidate == function || areEqual(candidate, function))
        return candidate;
    candidates.push_back(function);
    ++numKept;
    return function;
  }

  DenseMap<size_t, SmallVector<func::FuncOp>> bodies;
};
} // namespace
