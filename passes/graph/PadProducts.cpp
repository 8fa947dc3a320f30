//===- PadProducts.cpp - Pad operands of products for matrix units --------===//

#include "lib/analysis/CostModel.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/support/GatheredMatrices.h"
#include "lib/support/GraphUtils.h"
#include "lib/support/Streaming.h"
#include "passes/graph/PaddedRows.h"
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
/// The depth of a product, and the elements from one row of each operand to the
/// next one.
struct Padding {
  int64_t depth, left, right;
};
} // namespace

/// Returns the pitch with which matrix units can read an operand. Rows across
/// the depth have addresses that are multiples of 16 bytes.
static int64_t getPaddedPitch(bool isAlongDepth, int64_t pitch, int64_t depth,
                              bool padsDepth) {
  if (!isAlongDepth)
    return llvm::alignTo(pitch, kAlignedElements);
  return padsDepth ? depth : pitch;
}

/// Returns the extents with which matrix units can multiply a product: the
/// depth consists of whole stages.
static Padding getPadding(const ProductSizes &sizes, int64_t stageDepth) {
  int64_t depth = llvm::alignTo(sizes.depth, stageDepth);
  bool padsDepth = depth != sizes.depth;
  return {
      depth,
      getPaddedPitch(sizes.isLeftAlongDepth, sizes.leftPitch, depth, padsDepth),
      getPaddedPitch(sizes.isRightAlongDepth, sizes.rightPitch, depth,
                     padsDepth)};
}

/// Returns the sizes of a product whose operands are padded.
static ProductSizes applyPadding(ProductSizes sizes, const Padding &padding) {
  sizes.depth = padding.depth;
  sizes.leftPitch = padding.left;
  sizes.rightPitch = padding.right;
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

/// Returns `tensor` with zeros behind its elements along a dimension, up to
/// `extent` elements.
static Value appendZeros(OpBuilder &builder, Location loc, Value tensor,
                         int64_t dim, int64_t extent) {
  RankedTensorType type = getTensorType(tensor);
  SmallVector<int64_t> shape(type.getShape());
  if (shape[dim] == extent)
    return tensor;
  shape[dim] = extent - shape[dim];
  auto zerosType = RankedTensorType::get(shape, type.getElementType());
  Value zeros = createZeros(builder, loc, zerosType);
  shape[dim] = extent;
  return ConcatOp::create(builder, loc,
                          RankedTensorType::get(shape, type.getElementType()),
                          ValueRange{tensor, zeros}, dim);
}

/// Copies an operand, so that its depth is padded and its rows are `pitch`
/// elements apart. The product reads the elements of rows that exist.
static void padOperand(OpBuilder &builder, MatmulOp op, OpOperand &operand,
                       bool isAlongDepth, int64_t depth, int64_t pitch) {
  RankedTensorType type = getTensorType(operand.get());
  int64_t last = type.getRank() - 1, extent = type.getShape().back();
  Value padded = appendZeros(builder, op.getLoc(), operand.get(),
                             isAlongDepth ? last : last - 1, depth);
  if (!isAlongDepth)
    padded = dropPitch(builder, op.getLoc(),
                       appendZeros(builder, op.getLoc(), padded, last, pitch),
                       extent);
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

  /// Pads the operands of a product if it then takes less time, copies
  /// included. Returns true if it does.
  static bool pad(OpBuilder &builder, TargetAttr target, MatmulOp op) {
    if (!isSupported(target, op))
      return false;
    ProductSizes sizes = getProductSizes(op, getTensorType(op).getShape());
    if (std::min(sizes.rows, sizes.columns) <= kStreamingRows ||
        sizes.depth == 0 || canMultiply(target, sizes))
      return false;
    Padding padding = getPadding(sizes, getStageDepth(target));
    std::optional<ProductTile> tile =
        findListedTile(target, applyPadding(sizes, padding));
    if (!tile)
      return false;
    bool padsDepth = padding.depth != sizes.depth,
         padsLeft = padsDepth || padding.left != sizes.leftPitch,
         padsRight = padsDepth || padding.right != sizes.rightPitch;
    double ns = tile->ns;
    if (padsLeft)
      ns += predictCopy(target, op.getLhs());
    if (padsRight)
      ns += predictCopy(target, op.getRhs());
    if (ns >= predictThreads(target, sizes))
      return false;
    builder.setInsertionPoint(op);
    if (padsLeft)
      padOperand(builder, op, op.getLhsMutable(), sizes.isLeftAlongDepth,
                 padding.depth, padding.left);
    if (padsRight)
      padOperand(builder, op, op.getRhsMutable(), sizes.isRightAlongDepth,
                 padding.depth, padding.right);
    return true;
  }

  void runOnOperation() override {
    TargetAttr target = findTarget(getOperation());
    OpBuilder builder(&getContext());
    for (auto op : getOperation().getBody().getOps<MatmulOp>())
      if (pad(builder, target, op))
        ++numPadded;
  }
};
} // namespace
