//===- SimplifyBody.cpp - Simplify the body of one tile -------------------===//

#include "passes/tiling/tasks/TaskBody.h"

#include "passes/tiling/tasks/TileBodyOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Indexing maps
//===----------------------------------------------------------------------===//

/// Simplifies `d floordiv c` to zero if the tile has at most `c` elements in
/// the dimension, as with the query heads of one key head.
static SmallVector<AffineMap> simplifyMaps(IndexingMapOpInterface op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  auto simplify = [&](AffineExpr expr) {
    auto quotient = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!quotient || quotient.getKind() != AffineExprKind::FloorDiv)
      return expr;
    auto dim = dyn_cast<AffineDimExpr>(quotient.getLHS());
    auto divisor = dyn_cast<AffineConstantExpr>(quotient.getRHS());
    if (!dim || !divisor || ShapedType::isDynamic(ranges[dim.getPosition()]) ||
        ranges[dim.getPosition()] > divisor.getValue())
      return expr;
    return getAffineConstantExpr(0, expr.getContext());
  };
  SmallVector<AffineMap> maps;
  for (AffineMap map : op.getIndexingMapsArray())
    maps.push_back(AffineMap::get(
        map.getNumDims(), 0, llvm::map_to_vector(map.getResults(), simplify),
        map.getContext()));
  return maps;
}

void ark::simplifyMapsOfBody(RewriterBase &rewriter, TaskOp task) {
  for (Operation &op : task.getBody().getOps()) {
    auto bodyOp = dyn_cast<BodyOpInterface>(op);
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!bodyOp && !generic)
      continue;
    SmallVector<AffineMap> maps =
        simplifyMaps(cast<IndexingMapOpInterface>(op));
    rewriter.modifyOpInPlace(&op, [&] {
      if (bodyOp)
        bodyOp.setMaps(maps);
      else
        generic.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
    });
  }
}

//===----------------------------------------------------------------------===//
// Dimensions of extent one
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ark::getDroppedDims(RankedTensorType tile) {
  SmallVector<int64_t> dims;
  int64_t rank = tile.getRank();
  for (int64_t dim = 0; dim < rank - 1; ++dim)
    if (tile.getDimSize(dim) == 1 &&
        rank - static_cast<int64_t>(dims.size()) > 2)
      dims.push_back(dim);
  return dims;
}

void ark::dropUnitDimsOfBody(RewriterBase &rewriter, TaskOp task) {
  SmallVector<int64_t> dropped = getDroppedDims(
      cast<RankedTensorType>(task.getOutTiles().front().getType()));
  linalg::ControlDropUnitDims options;
  options.rankReductionStrategy =
      linalg::ControlDropUnitDims::RankReductionStrategy::ExtractInsertSlice;
  options.controlFn = [&](Operation *op) {
    SmallVector<unsigned> dims;
    SmallVector<int64_t> ranges =
        cast<linalg::GenericOp>(op).getStaticLoopRanges();
    // Iteration spaces start with the dimensions of the result.
    for (int64_t dim : dropped)
      if (dim < static_cast<int64_t>(ranges.size()) && ranges[dim] == 1)
        dims.push_back(dim);
    return dims;
  };
  for (auto op :
       llvm::make_early_inc_range(task.getBody().getOps<linalg::GenericOp>())) {
    rewriter.setInsertionPoint(op);
    FailureOr<linalg::DropUnitDimsResult> result =
        linalg::dropUnitDims(rewriter, op, options);
    if (succeeded(result))
      rewriter.replaceOp(op, result->replacements);
  }
  for (auto op :
       llvm::make_early_inc_range(task.getBody().getOps<BodyOpInterface>()))
    dropRowLoops(rewriter, op, dropped);
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Returns true if `linalg.contract` can express an op. Its verifier requires
/// that each summed dimension occurs in both inputs;
/// `isaContractionOpInterface` also accepts `sum_n x[n, k] * w[k]`.
static bool isNamedContraction(linalg::GenericOp op) {
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(cast<linalg::LinalgOp>(*op));
  return linalg::isaContractionOpInterface(cast<linalg::LinalgOp>(*op)) &&
         succeeded(dims) && dims->k.size() == op.getNumReductionLoops() &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

/// Replaces contractions by the named op, which backends match.
void ark::nameContractions(RewriterBase &rewriter, TaskOp task) {
  for (auto op :
       llvm::make_early_inc_range(task.getBody().getOps<linalg::GenericOp>())) {
    // The named op accumulates by addition in the type of its result.
    bool adds = isa_and_nonnull<arith::AddFOp, arith::AddIOp>(
        op.getBody()->getTerminator()->getOperand(0).getDefiningOp());
    bool isSignless = llvm::none_of(op->getOperandTypes(), [](Type type) {
      return getElementTypeOrSelf(type).isUnsignedInteger();
    });
    if (!isNamedContraction(op) || !adds || !isSignless)
      continue;
    rewriter.setInsertionPoint(op);
    auto contract = linalg::ContractOp::create(
        rewriter, op.getLoc(), op.getResultTypes(), op.getInputs(),
        op.getOutputs(), op.getIndexingMaps());
    rewriter.replaceOp(op, contract.getResults());
  }
}
