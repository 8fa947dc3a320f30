//===- VerifyMemory.cpp - Check the output of the memory stage ------------===//

#include "lib/analysis/Liveness.h"
#include "lib/support/BufferView.h"
#include "passes/memory/verify/OutputChecker.h"
#include "passes/memory/verify/Passes.h"
#include "passes/memory/verify/TaskChecker.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYMEMORYPASS
#include "passes/memory/verify/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Alignment of the offsets of intermediates.
static constexpr int64_t kAlignment = 64;

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

static LogicalResult checkArgument(ProgramOp program, unsigned index) {
  auto error = [&](const Twine &problem) {
    return program.emitError("argument '")
           << program.getArgumentName(index) << "' " << problem;
  };
  auto type = dyn_cast<MemRefType>(program.getArgumentTypes()[index]);
  if (!type)
    return error("is not a buffer");
  if (!type.getLayout().isIdentity())
    return error("is not dense");
  auto value =
      program.getArgAttrOfType<ElementsAttr>(index, ArkDialect::kValueAttr);
  bool isConstant = program.getArgumentKind(index) == ArgumentKind::Constant;
  if (isConstant != static_cast<bool>(value))
    return error(isConstant ? "is a constant without ark.value"
                            : "has ark.value but is not a constant");
  if (value && (value.getElementType() != type.getElementType() ||
                value.getShapedType().getShape() != type.getShape()))
    return error("has an ark.value whose type is not that of the buffer");
  return success();
}

/// Checks the ops between tasks, at most one arena and at most one
/// `ark.packets`.
static LogicalResult checkBlock(ProgramOp program) {
  ArenaOp arena;
  PacketsOp packets;
  for (Operation &op : program.getBody().front()) {
    if (isa<TaskOp, ReturnOp, BufferCastOp, arith::ConstantOp>(op))
      continue;
    if (auto next = dyn_cast<ArenaOp>(op)) {
      if (arena)
        return next.emitError("is the second arena of its program");
      arena = next;
      continue;
    }
    if (auto next = dyn_cast<PacketsOp>(op)) {
      if (packets)
        return next.emitError("is the second buffer of packets of its program");
      packets = next;
      continue;
    }
    if (auto view = dyn_cast<memref::ViewOp>(op)) {
      if (!isa_and_nonnull<ArenaOp, PacketsOp>(
              view.getSource().getDefiningOp()))
        return view.emitError(
            "takes bytes of something other than the arena or packets");
      continue;
    }
    if (!isa<memref::MemRefDialect>(op.getDialect()) ||
        isa<memref::AllocOp>(op) || !isa<ViewLikeOpInterface>(op))
      return op.emitError("is not allowed between tasks on buffers");
  }
  return success();
}

/// Checks offsets. With a memory limit, intermediates may share bytes that only
/// the order of the program keeps apart: later stages keep this order.
static LogicalResult checkIntermediates(ProgramOp program,
                                        const Liveness &liveness) {
  bool isLimited = program->hasAttr(ArkDialect::kMemoryLimitAttr);
  ArrayRef<Intermediate> intermediates = liveness.getIntermediates();
  SmallVector<BufferView> views;
  for (const Intermediate &intermediate : intermediates) {
    FailureOr<BufferView> view = resolveBufferView(intermediate.buffer);
    if (failed(view))
      return failure();
    Operation *op = intermediate.buffer.getDefiningOp();
    if (view->byteOffset % kAlignment != 0)
      return op->emitError("lies at offset ")
             << view->byteOffset << ", which is not a multiple of "
             << kAlignment;
    int64_t arenaBytes = getBufferBytes(cast<MemRefType>(view->root.getType()));
    if (view->getByteEnd() > arenaBytes)
      return op->emitError("ends at byte ")
             << view->getByteEnd() << " of an arena of " << arenaBytes;
    views.push_back(std::move(*view));
  }
  for (size_t i = 0; i < views.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      bool overlap = views[i].byteOffset < views[j].getByteEnd() &&
                     views[j].byteOffset < views[i].getByteEnd();
      if (!overlap || liveness.mayShare(i, j) ||
          (isLimited && liveness.isApart(i, j)))
        continue;
      InFlightDiagnostic diagnostic =
          emitError(intermediates[i].buffer.getLoc(),
                    "shares bytes of the arena with an intermediate that may "
                    "be in use at the same time");
      diagnostic.attachNote(intermediates[j].buffer.getLoc())
          << "the other intermediate";
      return failure();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Order of writes and reads
//===----------------------------------------------------------------------===//

namespace {
/// Checks in program order that buffers are filled before tasks read them.
class FillChecker {
public:
  explicit FillChecker(ProgramOp program) : program(program) {}

  LogicalResult check(TaskOp task);

private:
  ProgramOp program;
  llvm::DenseSet<Value> filled;
};
} // namespace

LogicalResult FillChecker::check(TaskOp task) {
  for (auto [index, input] : llvm::enumerate(task.getInputs())) {
    Value buffer = resolveBufferView(input)->buffer;
    std::optional<ArgumentKind> kind = getKind(program, buffer);
    bool isMade = !kind || *kind == ArgumentKind::Output;
    if (isMade && !filled.contains(buffer))
      return task.emitError("operand ")
             << index << " is read before a task fills it";
  }
  for (Value out : task.getOuts())
    filled.insert(resolveBufferView(out)->buffer);
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

static LogicalResult verifyProgram(ProgramOp program) {
  if (program.getNumResults() != 0)
    return program.emitError("has results after the memory stage");
  for (unsigned index = 0; index < program.getNumArguments(); ++index)
    if (failed(checkArgument(program, index)))
      return failure();
  if (failed(checkBlock(program)))
    return failure();
  FillChecker fills(program);
  for (auto task : program.getBody().getOps<TaskOp>())
    if (failed(checkTask(task)) || failed(fills.check(task)))
      return failure();
  if (failed(checkOutputs(program)))
    return failure();
  FailureOr<Liveness> liveness = Liveness::compute(program);
  return failed(liveness) ? failure() : checkIntermediates(program, *liveness);
}

namespace {
struct VerifyMemoryPass
    : public ark::impl::VerifyMemoryPassBase<VerifyMemoryPass> {
  using VerifyMemoryPassBase::VerifyMemoryPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyProgram(getOperation())))
      signalPassFailure();
  }
};
} // namespace
