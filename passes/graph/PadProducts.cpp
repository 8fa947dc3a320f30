//===- PadProducts.cpp - Pad operands of products for matrix units --------===//

#include "lib/analysis/CostModel.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/support/GatheredMatrices.h"
#include "lib/support/GraphUtils.h"
#include "lib/support/Streaming.h"
#include "passes/graph/Passes.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_PADPRODUCTSPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Operations on fp32 that threads of one SM complete in a nanosecond if they
/// multiply a tile of 16-bit floats. On an H200, 8 products of 256 x 196 x 1024
/// take 65 us, which are 95 operations.
static constexpr double kThreadFlopsPerNs = 100;

namespace {
/// The extents of both operands of a product in memory.
struct Padding {
  /// The depth, and the elements from one row of each operand to the next one.
  int64_t depth, leftPitch, rightPitch;
};
} // namespace

static int64_t alignPitch(int64_t elements) {
  return llvm::alignTo(elements, kAlignedElements);
}

/// Returns the extents with which matrix units can read a product: whole stages
/// of the depth, and rows whose addresses are multiples of 16 bytes.
static Padding getPadding(TargetAttr target, const ProductSizes &sizes) {
  int64_t depth = llvm::alignTo(sizes.depth, getStageDepth(target));
  return {depth, sizes.isLeftAlongDepth ? depth : alignPitch(sizes.leftPitch),
          sizes.isRightAlongDepth ? depth : alignPitch(sizes.rightPitch)};
}

/// Returns the sizes of a product whose operands are padded.
static ProductSizes applyPadding(ProductSizes sizes, const Padding &padding) {
  sizes.depth = padding.depth;
  sizes.leftPitch = padding.leftPitch;
  sizes.rightPitch = padding.rightPitch;
  return sizes;
}

/// Predicts the time to copy an operand to one that is padded.
static double predictCopy(TargetAttr target, Value operand) {
  RankedTensorType type = getTensorType(operand);
  constexpr double kElementBytes = 2;
  int64_t sms = target.getSms();
  double bytes = 2 * kElementBytes * type.getNumElements();
  return predictVCTANs(target, sms, bytes / sms, 0) +
         predictHandoffNs(target, sms);
}

/// Returns true if warps or warpgroups can multiply a product as it is.
static bool canMultiply(TargetAttr target, const ProductSizes &sizes) {
  return findListedTile(target, sizes) ||
         (sizes.canWarpsRead && sizes.depth % kAlignedElements == 0);
}

/// Predicts the time of a product by threads, without matrix units.
static double predictThreads(TargetAttr target, const ProductSizes &sizes) {
  double flops = 2.0 * sizes.batches * sizes.rows * sizes.columns * sizes.depth;
  return flops / (kThreadFlopsPerNs * target.getSms());
}

static bool isCopied(const ProductSizes &sizes, const Padding &padding,
                     bool isLeft) {
  return padding.depth != sizes.depth ||
         (isLeft ? padding.leftPitch != sizes.leftPitch
                 : padding.rightPitch != sizes.rightPitch);
}

/// Returns `tensor` with zeros behind its elements along `dim`.
static Value appendZeros(OpBuilder &builder, Location loc, Value tensor,
                         int64_t dim, int64_t extent) {
  RankedTensorType type = getTensorType(tensor);
  SmallVector<int64_t> shape(type.getShape());
  if (shape[dim] == extent)
    return tensor;
  shape[dim] = extent - shape[dim];
  auto zerosType = RankedTensorType::get(shape, type.getElementType());
  Value zeros = ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(zerosType,
                             builder.getZeroAttr(type.getElementType())));
  shape[dim] = extent;
  return ConcatOp::create(builder, loc,
                          RankedTensorType::get(shape, type.getElementType()),
                          ValueRange{tensor, zeros}, dim);
}

/// Returns the first `extent` elements of `tensor` along its last dimension.
static Value dropPitch(OpBuilder &builder, Location loc, Value tensor,
                       int64_t extent) {
  RankedTensorType type = getTensorType(tensor);
  SmallVector<int64_t> shape(type.getShape()), starts(type.getRank(), 0),
      steps(type.getRank(), 1);
  if (shape.back() == extent)
    return tensor;
  shape.back() = extent;
  return SliceOp::create(builder, loc,
                         RankedTensorType::get(shape, type.getElementType()),
                         tensor, starts, shape, steps);
}

/// Pads an operand to the depth `depth`. If its rows lie across the depth, they
/// are `pitch` elements apart, and the product reads those that exist.
static void padOperand(OpBuilder &builder, MatmulOp op, OpOperand &operand,
                       bool isAlongDepth, int64_t depth, int64_t pitch) {
  Location loc = op.getLoc();
  RankedTensorType type = getTensorType(operand.get());
  int64_t last = type.getRank() - 1;
  Value padded = appendZeros(builder, loc, operand.get(),
                             isAlongDepth ? last : last - 1, depth);
  if (!isAlongDepth) {
    padded = appendZeros(builder, loc, padded, last, pitch);
    padded = dropPitch(builder, loc, padded, type.getDimSize(last));
  }
  operand.set(padded);
}

namespace {
struct PadProductsPass : ark::impl::PadProductsPassBase<PadProductsPass> {
  using PadProductsPassBase::PadProductsPassBase;

  /// Returns true if a target has instructions for the elements of a product
  /// that read panels of shared memory.
  static bool isSupported(TargetAttr target, MatmulOp op) {
    if (!target || getStageDepth(target) == 0 ||
        !target.getGpu().findSharedMemoryMma() ||
        target.getGpu().getMatrixTiles().getPanel() == 0)
      return false;
    Type element = getTensorType(op.getLhs()).getElementType();
    auto gather = op.getRhs().getDefiningOp<GatherOp>();
    return (element.isF16() || element.isBF16()) &&
           getTensorType(op.getRhs()).getElementType() == element &&
           !(gather && getProductOfGathered(gather));
  }

  /// Returns the padding with which a product takes less time, or nothing.
  static std::optional<Padding> choosePadding(TargetAttr target, MatmulOp op) {
    if (!isSupported(target, op))
      return std::nullopt;
    ProductSizes sizes = getProductSizes(op, getTensorType(op).getShape());
    if (std::min(sizes.rows, sizes.columns) <= kStreamingRows ||
        sizes.depth % getStageDepth(target) != 0 || sizes.depth == 0 ||
        canMultiply(target, sizes))
      return std::nullopt;
    Padding padding = getPadding(target, sizes);
    std::optional<ProductTile> tile =
        findListedTile(target, applyPadding(sizes, padding));
    if (!tile)
      return std::nullopt;
    double ns = tile->ns;
    for (bool isLeft : {true, false})
      if (isCopied(sizes, padding, isLeft))
        ns += predictCopy(target, isLeft ? op.getLhs() : op.getRhs());
    return ns < predictThreads(target, sizes) ? std::optional(padding)
                                              : std::nullopt;
  }

  void runOnOperation() override {
    TargetAttr target = findTarget(getOperation());
    OpBuilder builder(&getContext());
    for (auto op : getOperation().getBody().getOps<MatmulOp>()) {
      std::optional<Padding> padding = choosePadding(target, op);
      if (!padding)
        continue;
      builder.setInsertionPoint(op);
      padOperand(builder, op, op.getLhsMutable(), !op.getTransposeInput(),
                 padding->depth, padding->leftPitch);
      padOperand(builder, op, op.getRhsMutable(), op.getTransposeOther(),
                 padding->depth, padding->rightPitch);
      ++numPadded;
    }
  }
};
} // namespace
