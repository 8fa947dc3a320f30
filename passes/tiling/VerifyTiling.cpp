//===- VerifyTiling.cpp - Check the output of the tiling stage ------------===//
//
// Checks carry the labels of the pass description.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYTILINGPASS
#include "passes/tiling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static Value getViewBase(Value value) {
  while (auto view = value.getDefiningOp<ViewOpInterface>())
    value = view.getViewSource();
  return value;
}

/// Returns true for an argument of kind state, or for the result of a task that
/// updates a state.
static bool isState(ProgramOp program, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return program.getArgumentKind(argument.getArgNumber()) ==
           ArgumentKind::State;
  auto result = cast<OpResult>(value);
  auto task = dyn_cast<TaskOp>(result.getOwner());
  return task && task.isUpdated(result.getResultNumber());
}

/// Returns the source of a chain of reshapes: a reshape of a whole state may be
/// updated.
static Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getSource();
  return value;
}

/// tiling_c2
static LogicalResult verifyOuts(ProgramOp program, TaskOp task) {
  for (auto [index, out] : llvm::enumerate(task.getOuts())) {
    if (task.isUpdated(index)
            ? isState(program, skipReshapes(out))
            : out.getDefiningOp<tensor::EmptyOp>() && out.hasOneUse())
      continue;
    return task.emitOpError("'")
           << task.getName()
           << "' writes to a tensor that is neither empty nor "
           << "a state updated in place (tiling_c2)";
  }
  return success();
}

/// tiling_c4
static LogicalResult verifyBody(TaskOp task) {
  WalkResult result = task.getBody().walk([&](Operation *op) {
    bool known =
        isa<linalg::LinalgDialect, tensor::TensorDialect, arith::ArithDialect,
            math::MathDialect>(op->getDialect()) ||
        isa<affine::AffineApplyOp, affine::AffineMinOp, BodyOpInterface,
            CheckIndexOp, EpochOp, YieldOp, UnrealizedConversionCastOp,
            scf::ForOp, scf::IfOp, scf::YieldOp>(op);
    bool onBuffers =
        llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>);
    if (known && !onBuffers)
      return WalkResult::advance();
    op->emitOpError("cannot be part of the body of task '")
        << task.getName() << "' (tiling_c4)";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Checks the operands of a task (tiling_c5). `writers` has the states that
/// earlier tasks update; the function adds the states that this task updates.
static LogicalResult verifyStateOrder(TaskOp task,
                                      DenseMap<Value, TaskOp> &writers) {
  for (Value operand : task.getOperands()) {
    TaskOp writer = writers.lookup(getViewBase(operand));
    if (!writer)
      continue;
    InFlightDiagnostic diag = task.emitOpError("'")
                              << task.getName()
                              << "' reads a state after its update (tiling_c5)";
    diag.attachNote(writer.getLoc()) << "the update is here";
    return diag;
  }
  for (auto [index, out] : llvm::enumerate(task.getOuts()))
    if (task.isUpdated(index))
      writers[getViewBase(out)] = task;
  return success();
}

/// tiling_c3
static LogicalResult verifyResults(ProgramOp program, ReturnOp ret) {
  llvm::SmallPtrSet<Value, 8> seen;
  for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
    if (!value.getDefiningOp<TaskOp>() || isState(program, value) ||
        !seen.insert(value).second)
      return ret.emitOpError("result '")
             << program.getResultName(index)
             << "' is not produced by a separate task (tiling_c3)";
  }
  return success();
}

namespace {
struct VerifyTilingPass : ark::impl::VerifyTilingPassBase<VerifyTilingPass> {
  LogicalResult verify(ProgramOp program) {
    Block &block = program.getBody().front();
    DenseMap<Value, TaskOp> writers;
    for (Operation &op : block.without_terminator()) {
      // tiling_c1
      if (!isa<TaskOp, ViewOpInterface, ConstantOp, NoopOp, tensor::EmptyOp>(
              op))
        return op.emitOpError("is not a task, view or constant (tiling_c1)");
      auto task = dyn_cast<TaskOp>(op);
      if (task &&
          (failed(verifyOuts(program, task)) || failed(verifyBody(task)) ||
           failed(verifyStateOrder(task, writers))))
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
