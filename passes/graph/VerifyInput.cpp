//===- VerifyInput.cpp - Reject unsupported programs ----------------------===//

#include "dialects/ark/ArkLimits.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYINPUTPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Checks that no dimension that an anchor reads has extent 0.
static LogicalResult checkExtents(Operation &op) {
  auto anchor = dyn_cast<AnchorOpInterface>(op);
  if (StringRef empty = anchor ? anchor.getEmptyRead() : ""; !empty.empty())
    return op.emitError("'") << op.getName() << "' " << empty;
  return success();
}

/// input_c1
static LogicalResult checkSizes(Operation &op) {
  for (Type type : op.getResultTypes())
    if (auto shaped = dyn_cast<ShapedType>(type);
        shaped && !isAddressable(shaped))
      return op.emitError("'") << op.getName() << "' has a result of type "
                               << type << ", more than 2^47 bytes (input_c1)";
  return success();
}

/// Returns the sum of the elements that each vCTA writes. The sum may exceed 64
/// bits: a result has up to 2^47 bytes, and there are up to 2^22 vCTAs.
static __int128 countWritten(CustomOp op) {
  ArrayRef<int64_t> grid = op.getGrid(), sizes = op.getOutRegion().getSizes();
  ArrayRef<int64_t> shape = getTensorType(op.getResult()).getShape();
  SmallVector<int64_t> vcta(grid.size(), 0);
  __int128 written = 0;
  while (true) {
    int64_t elements = 1;
    for (auto [offset, size, extent] :
         llvm::zip(op.getOutRegion().getOffsets().compose(vcta), sizes, shape))
      elements *= std::min(size, extent - offset);
    written += elements;
    int64_t dim = grid.size() - 1;
    while (dim >= 0 && ++vcta[dim] == grid[dim])
      vcta[dim--] = 0;
    if (dim < 0)
      return written;
  }
}

/// input_c2
static LogicalResult checkCoverage(CustomOp op) {
  RankedTensorType type = getTensorType(op.getResult());
  __int128 written = countWritten(op);
  if (written == type.getNumElements())
    return success();
  bool fewer = written < type.getNumElements();
  return op.emitOpError("the regions of the result have ")
         << (fewer ? "fewer" : "more") << " elements than " << type
         << (fewer ? ": some would never be written (input_c2)"
                   : ": some would be written by several vCTAs (input_c2)");
}

/// Returns true if a body may hold an op of the ark dialect.
static bool isBodyOp(Operation &op) {
  if (isa<YieldOp>(op))
    return true;
  bool isStatic = llvm::all_of(op.getOperandTypes(), [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || shaped.hasStaticShape();
  });
  if (auto anchor = dyn_cast<AnchorOpInterface>(op))
    return isStatic && anchor.canBePartOfBody();
  if (isa<ConstantOp>(op))
    return static_cast<bool>(getSplat(op.getResult(0)));
  return isStatic && isa<ElementwiseOpInterface>(op);
}

/// input_c3
static LogicalResult checkBody(CustomOp custom) {
  WalkResult walk = custom.getBody().walk([](Operation *op) {
    bool known =
        isa_and_nonnull<ArkDialect>(op->getDialect())
            ? isBodyOp(*op)
            : isa_and_nonnull<linalg::LinalgDialect, tensor::TensorDialect,
                              arith::ArithDialect, math::MathDialect>(
                  op->getDialect()) ||
                  isa<affine::AffineApplyOp, affine::AffineMinOp, scf::ForOp,
                      scf::IfOp, scf::YieldOp>(op);
    if (known)
      return WalkResult::advance();
    op->emitError("'") << op->getName()
                       << "' cannot be part of the body of a custom op "
                          "(input_c3)";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

static bool isCommunication(Operation &op) {
  return isa<CollectiveOpInterface, ChannelOpInterface, ChannelOpenOp>(op);
}

static LogicalResult checkOp(ProgramOp program, Operation &op) {
  if (auto custom = dyn_cast<CustomOp>(op))
    return failure(failed(checkSizes(op)) || failed(checkCoverage(custom)) ||
                   failed(checkBody(custom)));
  if (isCommunication(op)) {
    if (program.getRank() && program.getWorldSize())
      return checkSizes(op);
    return op.emitError("'")
           << op.getName() << "' needs a program with rank and world_size";
  }
  if (isa<ViewOpInterface, ElementwiseOpInterface, AnchorOpInterface,
          ConstantOp, GroupOp, NoopOp, ReturnOp>(op))
    return failure(failed(checkSizes(op)) || failed(checkExtents(op)));
  return op.emitError("'") << op.getName()
                           << "' is not an op of a tensor program; the graph "
                              "stage takes ark ops on tensors";
}

namespace {
struct VerifyInputPass : ark::impl::VerifyInputPassBase<VerifyInputPass> {
  void runOnOperation() override {
    ProgramOp program = getOperation();
    if (program.isBufferized()) {
      program.emitError("program '")
          << program.getSymName()
          << "' works on buffers already; the graph stage takes tensors";
      return signalPassFailure();
    }
    for (Operation &op : program.getBody().front())
      if (failed(checkOp(program, op)))
        return signalPassFailure();
  }
};
} // namespace
