//===- SplitProducts.cpp - Split deep products for idle SMs (split-K) -----===//

#include "lib/analysis/CostModel.h"
#include "lib/analysis/ProductTiles.h"
#include "lib/support/GatheredMatrices.h"
#include "lib/support/GraphUtils.h"
#include "lib/support/Streaming.h"
#include "passes/graph/Passes.h"

#include "mlir/IR/PatternMatch.h"

#include <numeric>

namespace mlir::ark {
#define GEN_PASS_DEF_SPLITPRODUCTSPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Minimum predicted gain of a split. Predictions are accurate to some 15 %.
/// Gradients of weights, whose operands lie across the depth, run beside other
/// tasks, which use the idle SMs.
static constexpr double kMinGain = 0.15, kMinGainAcrossDepth = 0.35;
/// The fraction of the bandwidth of DRAM that products of 64 to 128 rows reach
/// when they read weights: docs/rationale.md, "A deep product is split in the
/// graph".
static constexpr double kReadShare = 0.8;
/// The fraction of the bandwidth of DRAM that the addition reaches if the
/// accumulators do not stay in the L2: each accumulator is stored to DRAM and
/// loaded again.
static constexpr double kUncachedShare = 0.5;

/// Returns the dimension of the depth (K) of an operand.
static int64_t getDepthDim(MatmulOp op, OpOperand &operand) {
  bool isLhs = operand.getOperandNumber() == 0;
  bool isLast = isLhs ? !op.getTransposeInput() : op.getTransposeOther();
  return getTensorType(operand.get()).getRank() - (isLast ? 1 : 2);
}

//===----------------------------------------------------------------------===//
// Profitability
//===----------------------------------------------------------------------===//

/// Predicts the time to read both operands from DRAM once.
static double predictReads(TargetAttr target, const ProductSizes &sizes) {
  double elementBytes = sizes.terms == 1 ? 2 : 4;
  double elements = static_cast<double>(sizes.batches) * sizes.depth *
                    (sizes.rows + sizes.columns);
  return elementBytes * elements / (kReadShare * target.getBandwidth());
}

/// Predicts the time of a matmul in one part.
static double predictWhole(TargetAttr target, const ProductSizes &sizes) {
  double reads = predictReads(target, sizes);
  if (std::optional<ProductTile> tile = findListedTile(target, sizes))
    return std::max(reads, tile->ns);
  // Without a listed tile, ark-select-tiles halves a large tile in the same
  // way.
  int64_t rows = std::min(sizes.rows, kMaxTileSide);
  int64_t columns = std::min(sizes.columns, kMaxTileSide);
  halveTile(rows, columns, kMinTileRows, kMinTileColumns, [&] {
    int64_t tiles = sizes.batches * llvm::divideCeil(sizes.rows, rows) *
                    llvm::divideCeil(sizes.columns, columns);
    return tiles >= getLeastTiles(target);
  });
  return std::max(reads, predictTilesNs(target, sizes, rows, columns));
}

/// Predicts the time to sum the results of the split-K parts, which all SMs
/// read from memory.
static double predictSum(TargetAttr target, const ProductSizes &sizes,
                         int64_t parts) {
  constexpr double kAccumulatorBytes = 4;
  double elements =
      static_cast<double>(sizes.batches) * sizes.rows * sizes.columns * parts;
  int64_t sms = target.getSms();
  double bytes = kAccumulatorBytes * elements;
  bool isCached = bytes <= target.getGpu().getMatrixTiles().getL2();
  double share = isCached ? 1 : kUncachedShare;
  return predictVCTANs(target, sms, 2 * bytes / share / sms, elements / sms) +
         predictHandoffNs(target, sms);
}

/// Returns the number of split-K parts with the shortest predicted time, or 1
/// if the depth should not be split. Each part has listed tiles.
static int64_t chooseParts(TargetAttr target, const ProductSizes &sizes) {
  double gain = sizes.canWarpsRead ? kMinGain : kMinGainAcrossDepth;
  double best = predictWhole(target, sizes) * (1 - gain);
  int64_t chosen = 1;
  int64_t stages = sizes.depth / getStageDepth(target);
  for (int64_t parts = 2; parts <= stages; ++parts) {
    if (stages % parts != 0)
      continue;
    ProductSizes all = sizes;
    all.batches *= parts;
    all.depth /= parts;
    std::optional<ProductTile> tile = findListedTile(target, all);
    if (!tile)
      continue;
    double predicted = std::max(predictReads(target, sizes), tile->ns) +
                       predictSum(target, sizes, parts);
    if (predicted < best) {
      best = predicted;
      chosen = parts;
    }
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Splits dimension `dim` of a matrix, or of a batch of matrices, into `parts`
/// split-K parts. The index of the part becomes the first of `rank` + 1
/// dimensions.
static Value cutDepth(OpBuilder &builder, Location loc, Value tensor,
                      int64_t dim, int64_t parts, int64_t rank) {
  RankedTensorType type = getTensorType(tensor);
  SmallVector<int64_t> shape(rank - type.getRank(), 1);
  dim += shape.size();
  llvm::append_range(shape, type.getShape());
  shape[dim] /= parts;
  shape.insert(shape.begin() + dim, parts);
  Value cut = ReshapeOp::create(builder, loc, tensor, shape);
  SmallVector<int64_t> permutation(rank + 1);
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + dim);
  permutation.insert(permutation.begin(), dim);
  return TransposeOp::create(builder, loc, cut, permutation);
}

/// Returns the addition that is the only user of a product, if it adds a tensor
/// of the same type.
static AddOp findOnlyAdd(MatmulOp op) {
  auto add = op->hasOneUse() ? dyn_cast<AddOp>(*op->user_begin()) : AddOp();
  bool isSame = add && add.getLhs().getType() == op.getType() &&
                add.getRhs().getType() == op.getType();
  return isSame ? add : AddOp();
}

/// Replaces an op by a tensor of f32, which is rounded to the type of the op.
static void replaceRounded(RewriterBase &rewriter, Operation *op, Value value) {
  RankedTensorType type = getTensorType(op->getResult(0));
  if (value.getType() != type)
    value =
        CastOp::create(rewriter, op->getLoc(), value, type.getElementType());
  rewriter.replaceOp(op, value);
}

/// Replaces a product by the sum of `parts` products. An addition that follows
/// is computed in f32 as well, so that the result is rounded only once, as it
/// is in the epilogue of a whole product.
static void split(RewriterBase &rewriter, MatmulOp op, int64_t parts) {
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  RankedTensorType type = getTensorType(op);
  Value operands[2];
  for (OpOperand &operand : op->getOpOperands())
    operands[operand.getOperandNumber()] =
        cutDepth(rewriter, loc, operand.get(), getDepthDim(op, operand), parts,
                 type.getRank());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), parts);
  auto products = MatmulOp::create(
      rewriter, loc, RankedTensorType::get(shape, rewriter.getF32Type()),
      operands[0], operands[1], op.getTransposeInput(), op.getTransposeOther());
  auto sum = ReduceSumOp::create(rewriter, loc, products, /*axes=*/{0},
                                 /*keepdims=*/false);
  for (Operation *made : {products.getOperation(), sum.getOperation()})
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  AddOp add = findOnlyAdd(op);
  if (!add || type.getElementType().isF32())
    return replaceRounded(rewriter, op, sum);
  rewriter.setInsertionPoint(add);
  Value other = add.getLhs() == op.getResult() ? add.getRhs() : add.getLhs();
  Value wide = CastOp::create(rewriter, loc, other, rewriter.getF32Type());
  auto added = AddOp::create(rewriter, add.getLoc(), sum.getType(), sum, wide);
  added->setDiscardableAttrs(add->getDiscardableAttrDictionary());
  replaceRounded(rewriter, add, added);
  rewriter.eraseOp(op);
}

/// Returns true if another product reads the same left operand. Such products
/// run at the same time or as one task, so that no SM is idle.
static bool hasSibling(MatmulOp op) {
  return llvm::any_of(op.getLhs().getUsers(), [&](Operation *user) {
    auto other = dyn_cast<MatmulOp>(user);
    return other && other != op && other.getLhs() == op.getLhs();
  });
}

namespace {
struct SplitProductsPass : ark::impl::SplitProductsPassBase<SplitProductsPass> {
  using SplitProductsPassBase::SplitProductsPassBase;

  int64_t getNumParts(MatmulOp op) {
    auto plan = op->getAttrOfType<DictionaryAttr>(ArkDialect::kPlanAttr.str());
    Type element = getTensorType(op.getLhs()).getElementType();
    auto gather = op.getRhs().getDefiningOp<GatherOp>();
    if ((plan && plan.contains("tile")) ||
        (gather && getProductOfGathered(gather)) || !isa<FloatType>(element) ||
        !(element.isF32() || element.getIntOrFloatBitWidth() == 16) ||
        getTensorType(op.getRhs()).getElementType() != element)
      return 1;
    if (parts > 0)
      return getDepth(op) % parts == 0 ? parts : 1;
    TargetAttr target = findTarget(op);
    // Only tiles of instructions that read shared memory have measured times.
    if (!target || getStageDepth(target) == 0 ||
        !target.getGpu().findSharedMemoryMma())
      return 1;
    ProductSizes sizes = getProductSizes(op, getTensorType(op).getShape());
    bool isAlongDepth = !op.getTransposeInput() && op.getTransposeOther();
    int64_t panel = target.getGpu().getMatrixTiles().getPanel();
    if (sizes.rows <= kStreamingRows || (!isAlongDepth && panel == 0) ||
        hasSibling(op))
      return 1;
    return chooseParts(target, sizes);
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto op : llvm::make_early_inc_range(
             getOperation().getBody().getOps<MatmulOp>())) {
      int64_t count = getNumParts(op);
      if (count == 1)
        continue;
      split(rewriter, op, count);
      ++numSplit;
    }
  }
};
} // namespace
