//===- BufferizeBodies.cpp - Bufferize the bodies of tasks ----------------===//

#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"
#include "lib/support/DimIndices.h"
#include "passes/memory/bufferize/BufferizeBodyOps.h"
#include "passes/memory/bufferize/Passes.h"

#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/AllInterfaces.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/ValueBoundsOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BUFFERIZEBODIESPASS
#include "passes/memory/bufferize/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Static temporaries
//===----------------------------------------------------------------------===//

namespace {
/// Bounds the extents of a tensor by those of its buffer. Upstream has no
/// external model of ValueBoundsOpInterface for `bufferization.to_tensor`.
struct ToTensorBounds
    : public ValueBoundsOpInterface::ExternalModel<ToTensorBounds,
                                                   bufferization::ToTensorOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    Value buffer = cast<bufferization::ToTensorOp>(op).getBuffer();
    bounds.bound(value)[dim] == bounds.getExpr(buffer, dim);
  }
};
} // namespace

static void
registerToTensorBounds(MLIRContext *context,
                       bufferization::BufferizationDialect *dialect) {
  bufferization::ToTensorOp::attachInterface<ToTensorBounds>(*context);
}

/// Returns the largest shape of a tensor of `type` with these dynamic extents.
static FailureOr<SmallVector<int64_t>>
getLargestShape(Operation *op, RankedTensorType type, ValueRange extents) {
  SmallVector<int64_t> shape(type.getShape());
  size_t next = 0;
  for (int64_t &extent : shape) {
    if (!ShapedType::isDynamic(extent))
      continue;
    FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, extents[next++], /*stopCondition=*/nullptr,
        /*closedUB=*/true);
    if (failed(bound) || *bound < 0)
      return op->emitError("a temporary of type ")
             << type << " has no constant bound on its size";
    extent = *bound;
  }
  if (!isAddressable(RankedTensorType::get(shape, type.getElementType())))
    return op->emitError("a temporary of type ")
           << type << " may take more than 2^47 bytes";
  return shape;
}

/// Slices a tensor of static shape to the given extents.
static Value createLeadingPart(RewriterBase &rewriter, Location loc,
                               Value whole, RankedTensorType type,
                               ValueRange extents) {
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      getMixedValues(type.getShape(), extents, rewriter);
  return tensor::ExtractSliceOp::create(rewriter, loc, type, whole, offsets,
                                        sizes, strides);
}

/// Replaces a temporary whose extents depend on the vCTA by a slice of a
/// temporary with the largest extents. The bytes of the task and the strides
/// become static.
static LogicalResult makeStatic(RewriterBase &rewriter, tensor::EmptyOp empty) {
  RankedTensorType type = empty.getType();
  if (type.hasStaticShape())
    return success();
  FailureOr<SmallVector<int64_t>> shape =
      getLargestShape(empty, type, empty.getDynamicSizes());
  if (failed(shape))
    return failure();
  rewriter.setInsertionPoint(empty);
  Value whole = tensor::EmptyOp::create(rewriter, empty.getLoc(), *shape,
                                        type.getElementType());
  rewriter.replaceOp(empty, createLeadingPart(rewriter, empty.getLoc(), whole,
                                              type, empty.getDynamicSizes()));
  return success();
}

/// Returns the dynamic extents of an allocation.
static SmallVector<Value> getExtents(RewriterBase &rewriter,
                                     bufferization::AllocTensorOp alloc) {
  SmallVector<Value> extents(alloc.getDynamicSizes());
  if (!alloc.getCopy())
    return extents;
  auto type = cast<RankedTensorType>(alloc.getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      extents.push_back(tensor::DimOp::create(rewriter, alloc.getLoc(),
                                              alloc.getCopy(), dim));
  return extents;
}

/// Replaces an allocation with dynamic extents, or the copy that keeps a value
/// from being overwritten, by a slice of an allocation with the largest
/// extents.
static LogicalResult makeStatic(RewriterBase &rewriter,
                                bufferization::AllocTensorOp alloc) {
  auto type = cast<RankedTensorType>(alloc.getType());
  if (type.hasStaticShape())
    return success();
  Location loc = alloc.getLoc();
  rewriter.setInsertionPoint(alloc);
  SmallVector<Value> extents = getExtents(rewriter, alloc);
  FailureOr<SmallVector<int64_t>> shape = getLargestShape(alloc, type, extents);
  if (failed(shape))
    return failure();
  Value whole = bufferization::AllocTensorOp::create(
      rewriter, loc, RankedTensorType::get(*shape, type.getElementType()),
      ValueRange());
  Value part = createLeadingPart(rewriter, loc, whole, type, extents);
  if (alloc.getCopy())
    part = linalg::CopyOp::create(rewriter, loc, alloc.getCopy(), part)
               .getResult(0);
  rewriter.replaceOp(alloc, part);
  return success();
}

template <typename OpTy>
static LogicalResult makeAllStatic(RewriterBase &rewriter, TaskOp task) {
  SmallVector<OpTy> ops;
  task.walk([&](OpTy op) { ops.push_back(op); });
  for (OpTy op : ops)
    if (failed(makeStatic(rewriter, op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Returns true if `value` is a slice of an out that the task does not update,
/// before the body writes it: its bytes are old.
static bool isUnwrittenOut(TaskOp task, Value value) {
  while (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>())
    value = slice.getSource();
  auto tile = value.getDefiningOp<bufferization::ToTensorOp>();
  auto argument =
      dyn_cast_if_present<BlockArgument>(tile ? tile.getBuffer() : Value());
  if (!argument || argument.getOwner() != &task.getBody().front())
    return false;
  size_t firstOut = task.getGrid().size() + task.getInputs().size();
  return argument.getArgNumber() >= firstOut &&
         !task.isUpdated(argument.getArgNumber() - firstOut);
}

/// Drops copies of old bytes. `eliminateEmptyTensors` replaces an empty tensor
/// by a slice of an out. If this slice cannot be overwritten in place,
/// bufferization would copy its old bytes to a temporary, although no op reads
/// them.
static void dropCopiesOfOldBytes(RewriterBase &rewriter, TaskOp task) {
  SmallVector<bufferization::AllocTensorOp> copies;
  task.walk([&](bufferization::AllocTensorOp alloc) {
    if (alloc.getCopy() && isUnwrittenOut(task, alloc.getCopy()))
      copies.push_back(alloc);
  });
  for (bufferization::AllocTensorOp alloc : copies) {
    rewriter.setInsertionPoint(alloc);
    rewriter.replaceOpWithNewOp<bufferization::AllocTensorOp>(
        alloc, cast<RankedTensorType>(alloc.getType()),
        getExtents(rewriter, alloc));
  }
}

//===----------------------------------------------------------------------===//
// Dropped dimensions
//===----------------------------------------------------------------------===//

/// Returns true if the verifier of memref.subview may take another dimension
/// for the dropped one: if several dimensions have extent 1, it compares
/// strides, and strides may be equal.
static bool isAmbiguous(MemRefType whole,
                        const llvm::SmallDenseSet<unsigned> &dropped) {
  SmallVector<int64_t> strides = whole.getStridesAndOffset().first;
  bool keepsUnit = false, keepsStride = false;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    if (dropped.contains(dim))
      continue;
    keepsUnit |= whole.getDimSize(dim) == 1;
    keepsStride |= llvm::any_of(dropped, [&](unsigned other) {
      return strides[other] == strides[dim];
    });
  }
  return keepsUnit && keepsStride;
}

/// Splits a view that the verifier would reject: a subview without dropped
/// dimensions, then a reinterpret_cast that drops them by explicit strides.
static void dropByStrides(RewriterBase &rewriter, memref::SubViewOp view) {
  MemRefType type = view.getType();
  MemRefType whole = memref::SubViewOp::inferResultType(
      view.getSourceType(), view.getMixedOffsets(), view.getMixedSizes(),
      view.getMixedStrides());
  auto dropped = computeRankReductionMask(whole.getShape(), type.getShape());
  if (!dropped || dropped->empty() || !isAmbiguous(whole, *dropped))
    return;
  Location loc = view.getLoc();
  rewriter.setInsertionPoint(view);
  Value part = memref::SubViewOp::create(
      rewriter, loc, whole, view.getSource(), view.getMixedOffsets(),
      view.getMixedSizes(), view.getMixedStrides());
  auto metadata = memref::ExtractStridedMetadataOp::create(rewriter, loc, part);
  auto [staticStrides, staticOffset] = type.getStridesAndOffset();
  SmallVector<OpFoldResult> sizes, strides;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    if (dropped->contains(dim))
      continue;
    int64_t stride = staticStrides[strides.size()];
    sizes.push_back(view.getMixedSizes()[dim]);
    strides.push_back(ShapedType::isDynamic(stride)
                          ? OpFoldResult(metadata.getStrides()[dim])
                          : rewriter.getIndexAttr(stride));
  }
  OpFoldResult offset = rewriter.getIndexAttr(staticOffset);
  if (ShapedType::isDynamic(staticOffset))
    offset = metadata.getOffset();
  rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
      view, type, part, offset, sizes, strides);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct BufferizeBodiesPass
    : public ark::impl::BufferizeBodiesPassBase<BufferizeBodiesPass> {
  using BufferizeBodiesPassBase::BufferizeBodiesPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    BufferizeBodiesPassBase::getDependentDialects(registry);
    registry.addExtension(registerToTensorBounds);
    registerBodyOpBufferization(registry);
    arith::registerBufferizableOpInterfaceExternalModels(registry);
    linalg::registerAllDialectInterfaceImplementations(registry);
    memref::registerValueBoundsOpInterfaceExternalModels(registry);
    scf::registerBufferizableOpInterfaceExternalModels(registry);
    scf::registerValueBoundsOpInterfaceExternalModels(registry);
    tensor::registerBufferizableOpInterfaceExternalModels(registry);
    tensor::registerInferTypeOpInterfaceExternalModels(registry);
    tensor::registerSubsetOpInterfaceExternalModels(registry);
    tensor::registerValueBoundsOpInterfaceExternalModels(registry);
    vector::registerBufferizableOpInterfaceExternalModels(registry);
  }

  void runOnOperation() override {
    if (failed(verifyDimIndices(getOperation())))
      return signalPassFailure();
    if (failed(bufferize(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult prepare(TaskOp task);
  LogicalResult bufferize(TaskOp task);
};
} // namespace

/// Gives a destination to ops that would bufferize to a new allocation, such as
/// tensor.pad, so that the destination can be chosen.
LogicalResult BufferizeBodiesPass::prepare(TaskOp task) {
  RewritePatternSet patterns(&getContext());
  linalg::populateConvertToDestinationStylePatterns(patterns);
  return applyPatternsGreedily(task, std::move(patterns));
}

static LogicalResult copyWithLinalg(OpBuilder &builder, Location loc,
                                    Value from, Value to) {
  linalg::CopyOp::create(builder, loc, from, to);
  return success();
}

LogicalResult BufferizeBodiesPass::bufferize(TaskOp task) {
  IRRewriter rewriter(task.getContext());
  // Values for a destination are computed in the destination.
  if (failed(prepare(task)) ||
      failed(bufferization::eliminateEmptyTensors(rewriter, task)) ||
      failed(makeAllStatic<tensor::EmptyOp>(rewriter, task)))
    return failure();

  bufferization::OneShotBufferizationOptions options;
  // A memref.copy of strided buffers becomes a library call, which a kernel
  // cannot make.
  options.memCpyFn = copyWithLinalg;
  bufferization::BufferizationState state;
  if (failed(bufferization::insertTensorCopies(task, options, state)))
    return failure();
  dropCopiesOfOldBytes(rewriter, task);
  if (failed(makeAllStatic<bufferization::AllocTensorOp>(rewriter, task)))
    return failure();
  if (failed(bufferization::bufferizeOp(task, options, state)))
    return failure();
  SmallVector<memref::SubViewOp> views;
  task.walk([&](memref::SubViewOp view) { views.push_back(view); });
  for (memref::SubViewOp view : views)
    dropByStrides(rewriter, view);
  return success();
}
