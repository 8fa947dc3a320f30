//===- FormConvolutions.cpp - Multiply windows that stay in images --------===//

#include "lib/analysis/ConvolutionTiles.h"
#include "lib/analysis/CostModel.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/PaddedRows.h"
#include "passes/graph/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FORMCONVOLUTIONSPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Products of windows
//===----------------------------------------------------------------------===//

namespace {
/// A product of filters by the windows of images.
struct WindowProduct {
  MatmulOp product;
  WindowsOp windows;
  /// Channels of a filter; rows and columns of a window, and the numbers of
  /// windows down and across.
  int64_t channels, height, width, rows, columns;

  static std::optional<WindowProduct> match(MatmulOp op);

  /// Returns the columns of windows that are copied, in units of 16 bytes.
  int64_t getPitch() const { return llvm::alignTo(columns, kAlignedElements); }
  ConvolutionSizes getSizes() {
    ArrayRef<int64_t> shape = product.getType().getShape();
    return {ShapedType::getNumElements(shape.drop_back(2)),
            shape[shape.size() - 2], rows, columns, channels * height * width};
  }
};
} // namespace

/// Returns the windows of which `matrix` is a view, or null if another op reads
/// them, too.
static WindowsOp findWindows(Value matrix) {
  auto view = matrix.getDefiningOp<ReshapeOp>();
  while (view && view->hasOneUse()) {
    if (auto windows = view.getSource().getDefiningOp<WindowsOp>())
      return windows->hasOneUse() ? windows : WindowsOp();
    view = view.getSource().getDefiningOp<ReshapeOp>();
  }
  return {};
}

std::optional<WindowProduct> WindowProduct::match(MatmulOp op) {
  RankedTensorType filters = getTensorType(op.getLhs()),
                   matrix = getTensorType(op.getRhs());
  Type element = filters.getElementType();
  if (!(element.isF16() || element.isBF16()) ||
      matrix.getElementType() != element ||
      op.getType().getElementType() != element || op.getTransposeInput() ||
      op.getTransposeOther())
    return std::nullopt;
  WindowsOp windows = findWindows(op.getRhs());
  if (!windows || windows.getSizes().size() != 2)
    return std::nullopt;
  ArrayRef<int64_t> counts =
      getTensorType(windows.getResult()).getShape().take_back(2);
  int64_t height = windows.getSizes()[0], width = windows.getSizes()[1];
  int64_t depth = matrix.getShape().take_back(2)[0];
  // Windows of one row have as many elements as the windows over columns.
  if (height == 1 || width == 1 || depth % (height * width) != 0 ||
      matrix.getShape().back() != counts[0] * counts[1])
    return std::nullopt;
  return WindowProduct{op,       windows, depth / (height * width),
                       height,   width,   counts[0],
                       counts[1]};
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Predicts the time to write a tensor of 16-bit floats that is a copy of parts
/// of one with `read` elements.
static double predictCopy(TargetAttr target, double read, double written) {
  constexpr double kElementBytes = 2;
  int64_t sms = target.getSms();
  return predictVCTANs(target, sms, kElementBytes * (read + written) / sms,
                       /*flops=*/0) +
         predictHandoffNs(target, sms);
}

/// Predicts the time of the product and the copy of its windows, whose rows may
/// be padded. Returns nothing if matrix units do not multiply it.
static std::optional<double> predictProduct(TargetAttr target,
                                            WindowProduct found) {
  ArrayRef<int64_t> shape = found.product.getType().getShape();
  ProductSizes sizes = getProductSizes(found.product, shape);
  sizes.depth = llvm::alignTo(sizes.depth, getStageDepth(target));
  sizes.rightPitch = llvm::alignTo(sizes.rightPitch, kAlignedElements);
  std::optional<ProductTile> tile = findListedTile(target, sizes);
  if (!tile)
    return std::nullopt;
  double images = getTensorType(found.windows.getOperand()).getNumElements(),
         windows = getTensorType(found.windows.getResult()).getNumElements();
  double ns = tile->ns + predictCopy(target, images, windows);
  // `ark-pad-products` copies rows that are not a multiple of 16 bytes.
  if (sizes.rightPitch != shape.back())
    ns += predictCopy(target, windows, windows);
  return ns;
}

/// Predicts the time of the convolution and the copy of the windows over its
/// columns. Returns nothing if matrix units do not multiply it.
static std::optional<double> predictConvolution(TargetAttr target,
                                                WindowProduct found) {
  std::optional<ConvolutionTile> tile =
      findConvolutionTile(target, found.getSizes());
  if (!tile)
    return std::nullopt;
  RankedTensorType images = getTensorType(found.windows.getOperand());
  double elements = images.getNumElements();
  double copied =
      elements / images.getShape().back() * found.width * found.getPitch();
  return tile->ns + predictCopy(target, elements, copied);
}

/// Returns true if a convolution is predicted to take less time.
static bool isFaster(TargetAttr target, WindowProduct found) {
  std::optional<double> convolution = predictConvolution(target, found);
  if (!convolution)
    return false;
  std::optional<double> product = predictProduct(target, found);
  return !product || *convolution < *product;
}

//===----------------------------------------------------------------------===//
// Replacement
//===----------------------------------------------------------------------===//

static Value reshape(OpBuilder &builder, Location loc, Value value,
                     ArrayRef<int64_t> leading, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> all(leading);
  llvm::append_range(all, shape);
  return ReshapeOp::create(builder, loc, value, all);
}

/// Returns true if the plan of an op states a tile, which has the shape of the
/// op.
static bool hasPlannedTile(Operation *op) {
  auto plan = op->getAttrOfType<DictionaryAttr>(ArkDialect::kPlanAttr);
  return plan && plan.contains("tile");
}

static bool isZeros(Value value) {
  SplatElementsAttr splat = getSplat(value);
  return splat && splat.getSplatValue<APFloat>().isZero();
}

/// Returns the images of windows with zeros after the last column, up to
/// `width` columns. If zeros already follow the columns, they become more,
/// without another copy.
static Value widen(OpBuilder &builder, WindowsOp windows, int64_t width) {
  Location loc = windows.getLoc();
  Value images = windows.getOperand();
  SmallVector<int64_t> shape(getTensorType(images).getShape());
  if (shape.back() >= width)
    return images;
  auto view = images.getDefiningOp<ReshapeOp>();
  bool keepsRows =
      view && getTensorType(view.getSource()).getShape().back() == shape.back();
  Value source = keepsRows ? view.getSource() : images;
  RankedTensorType type = getTensorType(source);
  int64_t axis = type.getRank() - 1;
  SmallVector<int64_t> zeros(type.getShape()), widened(type.getShape());
  zeros.back() = width - shape.back();
  shape.back() = widened.back() = width;
  SmallVector<Value> parts = {source};
  auto concat = source.getDefiningOp<ConcatOp>();
  if (concat && static_cast<int64_t>(concat.getAxis()) == axis &&
      isZeros(concat.getOperands().back()) && !hasPlannedTile(concat)) {
    parts.assign(concat.getOperands().begin(), concat.getOperands().end());
    zeros.back() += getTensorType(parts.pop_back_val()).getShape().back();
  }
  parts.push_back(createZeros(builder, loc, type.clone(zeros)));
  auto wide = ConcatOp::create(builder, loc, type.clone(widened), parts, axis);
  Operation *planned = concat;
  if (parts.front() == source)
    planned = windows;
  wide->setDiscardableAttrs(planned->getDiscardableAttrDictionary());
  return reshape(builder, loc, wide, {}, shape);
}

/// Replaces a product by a convolution.
static void replace(RewriterBase &rewriter, WindowProduct found) {
  MatmulOp op = found.product;
  WindowsOp windows = found.windows;
  // A later update of the image must not change the windows.
  rewriter.setInsertionPoint(windows);
  Location loc = op.getLoc();
  int64_t stride = windows.getStrides()[1],
          dilation = windows.getDilations()[1];
  int64_t columns =
      (found.getPitch() - 1) * stride + (found.width - 1) * dilation + 1;
  Value wide = widen(rewriter, windows, columns);
  auto rows = WindowsOp::create(
      rewriter, windows.getLoc(), wide, ArrayRef<int64_t>(found.width),
      ArrayRef<int64_t>(stride), ArrayRef<int64_t>(dilation));
  rows->setDiscardableAttrs(windows->getDiscardableAttrDictionary());
  ArrayRef<int64_t> shape = getTensorType(rows).getShape();
  Value images = reshape(
      rewriter, loc, rows, getTensorType(op.getRhs()).getShape().drop_back(2),
      {found.channels, shape[shape.size() - 3] * found.width, shape.back()});
  images = dropPitch(rewriter, loc, images, found.columns);
  rewriter.setInsertionPoint(op);
  ArrayRef<int64_t> matrix = getTensorType(op.getLhs()).getShape();
  Value filters = reshape(rewriter, loc, op.getLhs(), matrix.drop_back(),
                          {found.channels, found.height, found.width});
  auto convolution = ConvolutionOp::create(
      rewriter, loc, filters, images, windows.getStrides()[0] * found.width,
      windows.getDilations()[0] * found.width);
  convolution->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceOp(
      op, reshape(rewriter, loc, convolution, {}, op.getType().getShape()));
}

namespace {
struct FormConvolutionsPass
    : ark::impl::FormConvolutionsPassBase<FormConvolutionsPass> {
  using FormConvolutionsPassBase::FormConvolutionsPassBase;

  void runOnOperation() override {
    TargetAttr target = findTarget(getOperation());
    if (!target || !target.isGpu())
      return;
    IRRewriter rewriter(&getContext());
    for (auto op : llvm::make_early_inc_range(
             getOperation().getBody().getOps<MatmulOp>())) {
      std::optional<WindowProduct> found = WindowProduct::match(op);
      if (!found || hasPlannedTile(op) || hasPlannedTile(found->windows) ||
          !isFaster(target, *found))
        continue;
      replace(rewriter, *found);
      ++numFormed;
    }
  }
};
} // namespace
