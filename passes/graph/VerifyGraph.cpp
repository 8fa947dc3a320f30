//===- VerifyGraph.cpp - Check the output of the graph stage --------------===//
//
// Checks carry the labels of the pass description.
//
//===----------------------------------------------------------------------===//

#include "lib/support/GatheredMatrices.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/Passes.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYGRAPHPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// graph_c2
static LogicalResult verifyGroup(GroupOp group) {
  if (group.getNumResults() != 1)
    return group.emitOpError("'")
           << group.getName() << "' has " << group.getNumResults()
           << " results instead of one (graph_c2)";
  Operation *anchor = nullptr;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (!constant.getValue().isSplat())
        return op.emitOpError("inside of a group is not a splat (graph_c2)");
      continue;
    }
    if (auto gather = dyn_cast<GatherOp>(op);
        gather && getProductOfGathered(gather))
      continue;
    if (isa<AnchorOpInterface>(op)) {
      if (anchor) {
        InFlightDiagnostic diag = op.emitOpError("is the second anchor of '")
                                  << group.getName() << "' (graph_c2)";
        diag.attachNote(anchor->getLoc()) << "the first one is here";
        return diag;
      }
      anchor = &op;
      continue;
    }
    if (!isa<ElementwiseOpInterface>(op))
      return op.emitOpError("cannot be part of a group (graph_c2)");
  }
  return success();
}

/// graph_c3
static LogicalResult verifyResults(ProgramOp program, ReturnOp ret) {
  llvm::SmallPtrSet<Value, 8> seen;
  for (auto [index, value] : llvm::enumerate(ret.getOperands()))
    if (!value.getDefiningOp<GroupOp>() || isState(value) ||
        !seen.insert(value).second)
      return ret.emitOpError("result '")
             << program.getResultName(index)
             << "' is not produced by a separate group (graph_c3)";
  return success();
}

/// graph_c4
static LogicalResult verifyStateOrder(GroupOp group,
                                      const Overwriters &overwriters) {
  for (Value input : group.getInputs()) {
    Operation *overwriter = overwriters.lookup(input);
    if (!overwriter || overwriter == group ||
        group->isBeforeInBlock(overwriter))
      continue;
    InFlightDiagnostic diag = group.emitOpError("'")
                              << group.getName()
                              << "' reads a state after its update (graph_c4)";
    diag.attachNote(overwriter->getLoc()) << "the update is here";
    return diag;
  }
  return success();
}

namespace {
struct VerifyGraphPass : ark::impl::VerifyGraphPassBase<VerifyGraphPass> {
  LogicalResult verify(ProgramOp program) {
    llvm::StringMap<Location> names;
    Block &block = program.getBody().front();
    Overwriters overwriters(block);
    for (Operation &op : block.without_terminator()) {
      // graph_c1
      if (!isa<GroupOp, ViewOpInterface, ConstantOp, NoopOp>(op))
        return op.emitOpError("is not part of a group (graph_c1)");
      // graph_c7
      if (auto noop = dyn_cast<NoopOp>(op);
          noop && !noop.getSource().getDefiningOp<GroupOp>())
        return op.emitOpError(
            "keeps a value that is not the result of a group (graph_c7)");
      // graph_c6
      if (auto identity = dyn_cast<IdentityOp>(op);
          identity && !identity.getDeps().empty())
        return op.emitOpError("still carries dependences (graph_c6)");
      auto group = dyn_cast<GroupOp>(op);
      if (!group)
        continue;
      // graph_c5
      auto [entry, isNew] = names.try_emplace(group.getName(), group.getLoc());
      if (!isNew) {
        InFlightDiagnostic diag =
            group.emitOpError("has the name of another group, '")
            << group.getName() << "' (graph_c5)";
        diag.attachNote(entry->second) << "the other one is here";
        return diag;
      }
      if (failed(verifyGroup(group)) ||
          failed(verifyStateOrder(group, overwriters)))
        return failure();
    }
    return verifyResults(program, cast<ReturnOp>(block.getTerminator()));
  }

  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
