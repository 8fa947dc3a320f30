//===- NormalizeGraph.cpp - Bring the graph into normal form --------------===//

#include "lib/support/GraphUtils.h"
#include "passes/graph/NarrowProducts.h"
#include "passes/graph/OverwrittenStates.h"
#include "passes/graph/Passes.h"
#include "passes/graph/SinkReshapes.h"

#include "mlir/Dialect/Traits.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ark {
#define GEN_PASS_DEF_NORMALIZEGRAPHPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

namespace {
/// Replaces a view of a splat by a splat.
struct ViewOfSplat : OpInterfaceRewritePattern<ViewOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ViewOpInterface op,
                                PatternRewriter &rewriter) const override {
    SplatElementsAttr splat = getSplat(op.getViewSource());
    if (!splat || isa<BitcastOp, IdentityOp>(op))
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, splat.resizeSplat(getTensorType(op->getResult(0))));
    return success();
  }
};

/// Replaces a bitcast of a splat by a splat. If the new elements are smaller
/// than the old element, all new elements must be equal.
struct BitcastOfSplat : OpRewritePattern<BitcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BitcastOp op,
                                PatternRewriter &rewriter) const override {
    SplatElementsAttr splat = getSplat(op.getSource());
    if (!splat)
      return failure();
    SmallVector<char> bytes;
    if (splat.getElementType().isInteger(1))
      bytes.push_back(splat.getSplatValue<bool>());
    else
      llvm::append_range(bytes, cast<DenseElementsAttr>(splat).getRawData());
    RankedTensorType type = getTensorType(op);
    size_t size = type.getElementTypeBitWidth() / 8, known = bytes.size();
    for (size_t i = 0; i < std::max(known, size); ++i) {
      if (i >= known)
        bytes.push_back(bytes[i - known]);
      if (bytes[i] != bytes[i % size])
        return failure();
    }
    bytes.resize(size);
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, DenseElementsAttr::getFromRawBuffer(type, bytes));
    return success();
  }
};

struct SliceOfSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getSource().getDefiningOp<SliceOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> starts, stops, steps;
    for (int64_t dim = 0, rank = getTensorType(op).getRank(); dim < rank;
         ++dim) {
      int64_t step = inner.getSteps()[dim] * op.getSteps()[dim];
      int64_t start =
          inner.getStarts()[dim] + op.getStarts()[dim] * inner.getSteps()[dim];
      int64_t extent = getTensorType(op).getDimSize(dim);
      // The start would lie beyond the end of the source.
      if (extent == 0)
        start = 0;
      starts.push_back(start);
      steps.push_back(step);
      stops.push_back(extent ? start + (extent - 1) * step + 1 : start);
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, inner.getSource(), starts, stops,
                                         steps);
    return success();
  }
};

struct BroadcastOfBroadcast : OpRewritePattern<BroadcastToOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastToOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getSource().getDefiningOp<BroadcastToOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<BroadcastToOp>(op, inner.getSource(),
                                               op.getShape());
    return success();
  }
};

/// Replaces a transpose that moves only unit dimensions by a reshape, which
/// never needs a copy.
struct TransposeOfUnits : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    int64_t last = -1;
    for (int64_t dim : op.getPermutation()) {
      if (getTensorType(op.getSource()).getDimSize(dim) == 1)
        continue;
      if (dim < last)
        return failure();
      last = dim;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getSource(),
                                           getTensorType(op).getShape());
    return success();
  }
};

/// Returns true if a view keeps the rows of its source intact, in any order.
static bool keepsRows(ViewOpInterface view) {
  RankedTensorType type = getTensorType(view->getResult(0)),
                   source = getTensorType(view.getViewSource());
  if (auto transpose = dyn_cast<TransposeOp>(view.getOperation()))
    return transpose.getPermutation().back() == source.getRank() - 1;
  return isa<ReshapeOp>(view) && type.getRank() > 0 &&
         type.getShape().back() == source.getShape().back();
}

/// Moves a norm of viewed rows, such as the heads of a projection, behind the
/// views that follow. The norm then indexes its elements like its reader, so
/// that the two can become one task. Applies only if the norm reads a view: an
/// op that produces the norm's operand could become its prologue, which the
/// views must not separate.
template <typename NormOp>
struct NormAfterViews : OpRewritePattern<NormOp> {
  using OpRewritePattern<NormOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(NormOp op,
                                PatternRewriter &rewriter) const override {
    auto plan =
        op->template getAttrOfType<DictionaryAttr>(ArkDialect::kPlanAttr.str());
    Value source = op->getOperand(0);
    if (!op->hasOneUse() || !source.getDefiningOp<ViewOpInterface>() ||
        (plan && plan.contains("tile")))
      return failure();
    auto view = dyn_cast<ViewOpInterface>(*op->user_begin());
    if (!view || !keepsRows(view))
      return failure();
    // The norm keeps its position: a later op may update a state that it reads.
    Operation *before = rewriter.clone(*view.getOperation());
    before->setOperand(0, source);
    rewriter.modifyOpInPlace(op, [&] {
      op->setOperand(0, before->getResult(0));
      op->getResult(0).setType(
          cast<RankedTensorType>(view->getResult(0).getType()));
    });
    rewriter.replaceOp(view, op->getResult(0));
    return success();
  }
};

/// Removes identities without dependences, and merges nested ones.
struct SimplifyIdentity : OpRewritePattern<IdentityOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IdentityOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> deps;
    for (Value dep : op.getDeps())
      // Arguments and constants are complete from the start. A dep that is an
      // identity is kept for its own deps.
      if (Operation *base = getViewBase(dep).getDefiningOp();
          dep.getDefiningOp<IdentityOp>() || (base && !isa<ConstantOp>(base)))
        deps.push_back(dep);
    if (deps.empty()) {
      rewriter.replaceOp(op, op.getSource());
      return success();
    }
    if (auto inner = op.getSource().getDefiningOp<IdentityOp>()) {
      llvm::append_range(deps, inner.getDeps());
      rewriter.replaceOpWithNewOp<IdentityOp>(op, inner.getSource(), deps);
      return success();
    }
    if (deps.size() == op.getDeps().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getDepsMutable().assign(deps); });
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Views folded into their readers
//===----------------------------------------------------------------------===//

namespace {
/// Folds a broadcast into an elementwise op, which broadcasts implicitly,
/// unless the shape of the result depends on the broadcast.
struct BroadcastIntoElementwise
    : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOpInterface op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto view = operand.get().getDefiningOp<BroadcastToOp>();
      if (!view)
        continue;
      SmallVector<int64_t> shape(getTensorType(view.getSource()).getShape());
      for (OpOperand &other : op->getOpOperands()) {
        SmallVector<int64_t> joined;
        if (&other == &operand)
          continue;
        OpTrait::util::getBroadcastedShape(
            shape, getTensorType(other.get()).getShape(), joined);
        shape = joined;
      }
      if (ArrayRef<int64_t>(shape) !=
          getTensorType(op->getResult(0)).getShape())
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(view.getSource()); });
      return success();
    }
    return failure();
  }
};

/// Moves a broadcast behind a unary op, so that every value is computed once.
struct BroadcastAfterUnary : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOpInterface op,
                                PatternRewriter &rewriter) const override {
    // A copy exists to fill a buffer of the full shape.
    if (op->getNumOperands() != 1 || isa<CopyOp>(op))
      return failure();
    auto view = op->getOperand(0).getDefiningOp<BroadcastToOp>();
    if (!view || !view->hasOneUse())
      return failure();
    RankedTensorType type = getTensorType(op->getResult(0));
    Operation *before = rewriter.clone(*op);
    rewriter.modifyOpInPlace(before, [&] {
      before->setOperand(0, view.getSource());
      before->getResult(0).setType(
          type.clone(getTensorType(view.getSource()).getShape()));
    });
    rewriter.replaceOpWithNewOp<BroadcastToOp>(op, before->getResult(0),
                                               type.getShape());
    return success();
  }
};

/// Folds a broadcast of leading dimensions into a matmul.
struct BroadcastIntoMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto view = operand.get().getDefiningOp<BroadcastToOp>();
      if (!view)
        continue;
      ArrayRef<int64_t> source = getTensorType(view.getSource()).getShape();
      if (source.size() < 2 ||
          source.take_back(2) != getTensorType(view).getShape().take_back(2))
        continue;
      Value other = op->getOperand(1 - operand.getOperandNumber());
      SmallVector<int64_t> leading;
      OpTrait::util::getBroadcastedShape(
          source.drop_back(2), getTensorType(other).getShape().drop_back(2),
          leading);
      if (ArrayRef<int64_t>(leading) !=
          getTensorType(op).getShape().drop_back(2))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(view.getSource()); });
      return success();
    }
    return failure();
  }
};

template <typename OpTy>
struct BroadcastIntoMask : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!op.getMask())
      return failure();
    auto view = op.getMask().template getDefiningOp<BroadcastToOp>();
    if (!view)
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.getMaskMutable().assign(view.getSource()); });
    return success();
  }
};

/// Folds a transpose of the last two dimensions into a matmul, which supports
/// both orders.
struct TransposeIntoMatmul : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto view = operand.get().getDefiningOp<TransposeOp>();
      if (!view || !swapsLastTwo(view.getPermutation()))
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        operand.set(view.getSource());
        if (operand.getOperandNumber() == 0)
          op.setTransposeInput(!op.getTransposeInput());
        else
          op.setTransposeOther(!op.getTransposeOther());
      });
      return success();
    }
    return failure();
  }

  static bool swapsLastTwo(ArrayRef<int64_t> permutation) {
    int64_t rank = permutation.size();
    for (int64_t dim = 0; dim < rank - 2; ++dim)
      if (permutation[dim] != dim)
        return false;
    return permutation[rank - 2] == rank - 1;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
/// Replaces a reduction over dimensions of extent one by a reshape. Keeps the
/// reduction of a single element, which can join a group that a view would
/// divide.
template <typename ReduceOp>
struct ReduceUnits : OpRewritePattern<ReduceOp> {
  using OpRewritePattern<ReduceOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType source = getTensorType(op.getOperand());
    RankedTensorType type = getTensorType(op);
    if (source.getElementType() != type.getElementType() ||
        source.getNumElements() != type.getNumElements() ||
        type.getNumElements() == 1)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getOperand(),
                                           type.getShape());
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Constants and concatenations
//===----------------------------------------------------------------------===//

namespace {
/// Replaces results without elements by constants.
struct EmptyResult : RewritePattern {
  explicit EmptyResult(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || !isPure(op) || isa<ConstantOp>(op))
      return failure();
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() != 0)
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, DenseElementsAttr::get(type, ArrayRef<Attribute>()));
    return success();
  }
};

/// Replaces the result of an op that reduces no elements by a constant.
struct EmptyOperand : OpInterfaceRewritePattern<AnchorOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(AnchorOpInterface op,
                                PatternRewriter &rewriter) const override {
    Attribute value = op.getValueIfEmpty();
    RankedTensorType type = getTensorType(op->getResult(0));
    if (!value || type.getNumElements() == 0)
      return failure();
    rewriter.replaceOpWithNewOp<ConstantOp>(
        op, DenseElementsAttr::get(type, value));
    return success();
  }
};

/// Removes updates with no elements, which leave the state unchanged.
struct EmptyUpdate : OpRewritePattern<UpdateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(UpdateOp op,
                                PatternRewriter &rewriter) const override {
    if (getTensorType(op.getValue()).getNumElements() != 0)
      return failure();
    rewriter.replaceOp(op, op.getState());
    return success();
  }
};

struct SimplifyConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs =
        llvm::filter_to_vector(op.getInputs(), [](Value input) {
          return getTensorType(input).getNumElements() != 0;
        });
    if (inputs.size() == 1) {
      rewriter.replaceOp(op, inputs.front());
      return success();
    }
    if (inputs.empty() || inputs.size() == op.getInputs().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(inputs); });
    return success();
  }
};

/// Splits a concatenation of many tensors into concatenations of parts. The
/// body of a concatenation inserts one operand after the other into the tile,
/// and the time of bufferization grows with the fourth power of the number of
/// operands.
struct SplitConcat : OpRewritePattern<ConcatOp> {
  static constexpr size_t kMaxInputs = 32, kInputsOfPart = 16;

  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getInputs().size() <= kMaxInputs)
      return failure();
    SmallVector<Value> rest(op.getInputs()), parts;
    for (ArrayRef<Value> left = rest; !left.empty();) {
      ArrayRef<Value> inputs = left.take_front(kInputsOfPart);
      left = left.drop_front(inputs.size());
      auto part = ConcatOp::create(rewriter, op.getLoc(), inputs, op.getAxis());
      part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      parts.push_back(part);
    }
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(parts); });
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Noops
//===----------------------------------------------------------------------===//

/// Erases noops on values that exist anyway: arguments, constants and results
/// of updates. A noop on a view is replaced by one on the base of the view.
static void simplifyNoops(ProgramOp program) {
  for (auto noop :
       llvm::make_early_inc_range(program.getBody().getOps<NoopOp>())) {
    Value base = getViewBase(noop.getSource());
    Operation *op = base.getDefiningOp();
    if (!op || isa<ConstantOp>(op) || isState(base))
      noop.erase();
    else
      noop.getSourceMutable().assign(base);
  }
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct NormalizeGraphPass
    : ark::impl::NormalizeGraphPassBase<NormalizeGraphPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet first(context);
    first.add<SimplifyConcat>(context);
    concats = std::move(first);
    RewritePatternSet set(context);
    set.add<BitcastOfSplat, BroadcastAfterUnary, BroadcastIntoElementwise,
            BroadcastIntoMask<AttentionLogSumExpOp>,
            BroadcastIntoMask<AttentionOp>, BroadcastIntoMatmul,
            BroadcastOfBroadcast, EmptyOperand, EmptyResult, EmptyUpdate,
            NormAfterViews<LayernormOp>, NormAfterViews<RmsnormOp>,
            ReduceUnits<ReduceMaxOp>, ReduceUnits<ReduceMeanOp>,
            ReduceUnits<ReduceMinOp>, ReduceUnits<ReduceSumOp>, SimplifyConcat,
            SimplifyIdentity, SliceOfSlice, SplitConcat, TransposeIntoMatmul,
            TransposeOfUnits, ViewOfSplat>(context);
    populateNarrowProductPatterns(set);
    populateSinkReshapePatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // A noop on a view would count as a read of the view.
    simplifyNoops(getOperation());
    // A concat of one operand folds to the operand, which may be a state. The
    // copies of states below depend on such reads.
    if (failed(applyPatternsGreedily(getOperation(), concats)))
      return signalPassFailure();
    // States are copied first, because a pattern must not move a read across an
    // update of its state.
    numStateCopies += copyOverwrittenStates(getOperation());
    if (failed(applyPatternsGreedily(getOperation(), patterns)))
      return signalPassFailure();
    simplifyNoops(getOperation());
  }

  FrozenRewritePatternSet concats;
  FrozenRewritePatternSet patterns;
};
} // namespace
