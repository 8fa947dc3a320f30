//===- ExpandSegmentOps.cpp - Turn segment sums and maxima into customs ---===//
//
// A vCTA owns a block of segments. On GPUs, SegmentLists.cpp first sorts the
// slices into a list for each segment; a vCTA then adds the slices of its
// lists, several at once. Otherwise, and for maxima, a vCTA reads all indices,
// and joins the slices that belong to its segments one after the other.
//
//===----------------------------------------------------------------------===//

#include "lib/analysis/CostModel.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/Passes.h"
#include "passes/graph/SegmentLists.h"
#include "passes/graph/SegmentSearch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_EXPANDSEGMENTOPSPASS
#include "passes/graph/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// vCTAs per SM. Segments have different numbers of slices, and an SM that has
/// few in its first vCTA takes another vCTA earlier.
static constexpr int64_t kVCTAsPerSM = 2;
/// Least number of columns of a tile, so that a warp accesses whole sectors.
static constexpr int64_t kMinColumns = 32;
/// Largest number of slices that are listed. The lists compare all pairs of
/// indices, which is estimated to take 1.2 ms for this number on 132 SMs; the
/// search among all indices is estimated to take 2.2 ms.
static constexpr int64_t kMaxListedSlices = 1 << 16;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

namespace {
/// Extents of the operand, `batches x slices x columns`, and of the result,
/// `batches x segments x columns`.
struct SegmentShape {
  int64_t batches, slices, segments, columns;
};

/// Extents of the part of the result that a vCTA computes.
struct ResultTile {
  int64_t batches, segments, columns;
};
} // namespace

template <typename SegmentOp>
static SegmentShape getShape(SegmentOp op) {
  ArrayRef<int64_t> shape = getTensorType(op.getOperand()).getShape();
  int64_t axis = op.getAxis();
  return {ShapedType::getNumElements(shape.take_front(axis)), shape[axis],
          static_cast<int64_t>(op.getSegments()),
          ShapedType::getNumElements(shape.drop_front(axis + 1))};
}

/// Divides `extent` into at most `blocks` equal blocks, of which the last may
/// be clipped, and returns the extent of a block. `blocks` becomes the number
/// of blocks that are still needed in other dimensions.
static int64_t divide(int64_t extent, int64_t least, int64_t &blocks) {
  int64_t block = std::min(
      extent, std::max(least, static_cast<int64_t>(llvm::divideCeil(
                                  extent, std::max<int64_t>(blocks, 1)))));
  blocks = llvm::divideCeil(blocks, llvm::divideCeil(extent, block));
  return block;
}

/// Chooses tiles for all SMs. Blocks of columns come last: each of them reads
/// all indices again.
static ResultTile chooseTile(const SegmentShape &shape, int64_t sms) {
  int64_t blocks = kVCTAsPerSM * sms;
  int64_t batches = divide(shape.batches, 1, blocks);
  int64_t segments = divide(shape.segments, 1, blocks);
  // One vCTA per SM suffices for a split that costs reads.
  blocks = llvm::divideCeil(blocks, kVCTAsPerSM);
  return {batches, segments, divide(shape.columns, kMinColumns, blocks)};
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

/// Converts a narrower float to the type of the sum.
static Value widen(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return arith::ExtFOp::create(builder, loc, type, value);
}

static Value createSum(OpBuilder &builder, Location loc, Value segment,
                       Value slice) {
  if (!isa<FloatType>(segment.getType()))
    return arith::AddIOp::create(builder, loc, segment, slice);
  Value term = widen(builder, loc, slice, segment.getType());
  return arith::AddFOp::create(builder, loc, segment, term);
}

static Value createMax(OpBuilder &builder, Location loc, Value segment,
                       Value slice) {
  if (isa<FloatType>(segment.getType()))
    return arith::MaximumFOp::create(builder, loc, segment, slice);
  return arith::MaxSIOp::create(builder, loc, segment, slice);
}

static Value createUnsignedMax(OpBuilder &builder, Location loc, Value segment,
                               Value slice) {
  return arith::MaxUIOp::create(builder, loc, segment, slice);
}

static SegmentJoin getJoin(SegmentSumOp) { return createSum; }

static SegmentJoin getJoin(SegmentMaxOp op) {
  Type element = getTensorType(op.getOperand()).getElementType();
  return element.isUnsignedInteger() ? createUnsignedMax : createMax;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Returns the type of a tile: an extent that is clipped at the end of the
/// tensor is dynamic.
static RankedTensorType getTileType(RankedTensorType type,
                                    ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> shape(sizes);
  for (auto [size, extent] : llvm::zip(shape, type.getShape()))
    if (extent % size != 0)
      size = ShapedType::kDynamic;
  return type.clone(shape);
}

/// Returns the integer type of equal width that ops of the body accept, or the
/// type itself.
static Type getBodyType(Type type) {
  return type.isUnsignedInteger()
             ? IntegerType::get(type.getContext(), type.getIntOrFloatBitWidth())
             : type;
}

/// Views elements as elements of another type of equal width.
static Value castBits(OpBuilder &builder, Value value, Type element) {
  RankedTensorType type = getTensorType(value);
  if (type.getElementType() == element)
    return value;
  return BitcastOp::create(builder, value.getLoc(), type.clone(element), value,
                           element);
}

/// Returns an attribute of the type that ops of the body accept.
static TypedAttr getBodyValue(TypedAttr value) {
  auto integer = dyn_cast<IntegerAttr>(value);
  return integer ? IntegerAttr::get(getBodyType(value.getType()),
                                    integer.getValue())
                 : value;
}

namespace {
/// Builds the custom op that replaces one op.
class SegmentExpander {
public:
  template <typename SegmentOp>
  SegmentExpander(RewriterBase &rewriter, SegmentOp op, int64_t sms)
      : rewriter(rewriter), loc(op.getLoc()), source(op.getOperand()),
        indices(op.getIndices()), resultType(getTensorType(op.getResult())),
        valueOfNone(getBodyValue(op.getValueOfNone())), join(getJoin(op)),
        shape(getShape(op)), tile(chooseTile(shape, sms)) {}

  /// Returns an op whose vCTAs find their slices among all indices.
  CustomOp buildSearched();
  /// Returns a sum of listed slices.
  CustomOp buildListed(const SegmentLists &lists);

private:
  CustomOp build(ValueRange tables,
                 function_ref<Value(Block &body, Value first)> buildBody);
  RegionAttr getRegion(ArrayRef<AffineExpr> offsets, ArrayRef<int64_t> sizes);
  Value getOperand();

  RewriterBase &rewriter;
  Location loc;
  Value source, indices;
  RankedTensorType resultType;
  TypedAttr valueOfNone;
  SegmentJoin join;
  SegmentShape shape;
  ResultTile tile;
};
} // namespace

RegionAttr SegmentExpander::getRegion(ArrayRef<AffineExpr> offsets,
                                      ArrayRef<int64_t> sizes) {
  MLIRContext *context = rewriter.getContext();
  return RegionAttr::get(context, AffineMap::get(3, 0, offsets, context),
                         sizes);
}

/// Returns the operand as `batches x slices x columns`.
Value SegmentExpander::getOperand() {
  Value operand = ReshapeOp::create(
      rewriter, loc, source, {shape.batches, shape.slices, shape.columns});
  return castBits(rewriter, operand,
                  getBodyType(getTensorType(operand).getElementType()));
}

/// Builds a custom op. Each vCTA reads all elements of `tables`, which have one
/// dimension. The arguments of `buildBody` are the body and the first segment.
CustomOp SegmentExpander::build(
    ValueRange tables,
    function_ref<Value(Block &body, Value first)> buildBody) {
  Value operand = getOperand();
  auto result =
      RankedTensorType::get({shape.batches, shape.segments, shape.columns},
                            getBodyType(resultType.getElementType()));
  AffineExpr zero = rewriter.getAffineConstantExpr(0);
  AffineExpr batch = rewriter.getAffineDimExpr(0) * tile.batches;
  AffineExpr segment = rewriter.getAffineDimExpr(1) * tile.segments;
  AffineExpr column = rewriter.getAffineDimExpr(2) * tile.columns;
  RegionAttr slices = getRegion({batch, zero, column},
                                {tile.batches, shape.slices, tile.columns});
  RegionAttr segments = getRegion({batch, segment, column},
                                  {tile.batches, tile.segments, tile.columns});
  SmallVector<Value> inputs = {operand};
  SmallVector<Attribute> regions = {slices};
  Type index = rewriter.getIndexType();
  SmallVector<Type> types = {
      index, index, index,
      getTileType(getTensorType(operand), slices.getSizes())};
  for (Value table : tables) {
    inputs.push_back(table);
    types.push_back(table.getType());
    regions.push_back(getRegion({zero}, getTensorType(table).getShape()));
  }
  types.push_back(getTileType(result, segments.getSizes()));
  SmallVector<int64_t> grid;
  for (auto [extent, size] : llvm::zip(result.getShape(), segments.getSizes()))
    grid.push_back(llvm::divideCeil(extent, size));
  auto custom = CustomOp::create(rewriter, loc, result, grid, inputs,
                                 rewriter.getArrayAttr(regions), segments);
  OpBuilder::InsertionGuard guard(rewriter);
  Block *body = rewriter.createBlock(&custom.getBody(), {}, types,
                                     SmallVector<Location>(types.size(), loc));
  Value first = arith::MulIOp::create(
      rewriter, loc, body->getArgument(1),
      arith::ConstantIndexOp::create(rewriter, loc, tile.segments));
  Value total = buildBody(*body, first);
  YieldOp::create(rewriter, loc, total);
  return custom;
}

CustomOp SegmentExpander::buildSearched() {
  return build(indices, [&](Block &body, Value first) {
    return buildSearchedSegments(rewriter, loc, first, shape.slices,
                                 body.getArgument(3), body.getArgument(4),
                                 body.getArgument(5), valueOfNone, join);
  });
}

CustomOp SegmentExpander::buildListed(const SegmentLists &lists) {
  return build({lists.order, lists.starts}, [&](Block &body, Value first) {
    SegmentLists tiles = {body.getArgument(4), body.getArgument(5)};
    return buildListedSums(rewriter, loc, body.getArgument(3), tiles, first,
                           body.getArgument(6));
  });
}

/// Returns true if lists pay: on GPUs, where many threads share a vCTA and the
/// latency of memory is long, unless there are few or very many slices.
static bool areListed(TargetAttr target, int64_t slices) {
  return target && target.isGpu() && slices > kIndicesAtOnce &&
         slices <= kMaxListedSlices;
}

namespace {
struct ExpandSegmentOpsPass
    : ark::impl::ExpandSegmentOpsPassBase<ExpandSegmentOpsPass> {
  void runOnOperation() override {
    TargetAttr target = findTarget(getOperation());
    int64_t sms = target ? target.getSms() : 1;
    IRRewriter rewriter(&getContext());
    SegmentListBuilder lists(rewriter, sms);
    for (Operation &op :
         llvm::make_early_inc_range(getOperation().getBody().front())) {
      rewriter.setInsertionPoint(&op);
      if (auto sum = dyn_cast<SegmentSumOp>(op))
        replace(rewriter, sum, expand(rewriter, sum, target, sms, lists));
      else if (auto largest = dyn_cast<SegmentMaxOp>(op))
        replace(rewriter, largest,
                isExpanded(largest)
                    ? SegmentExpander(rewriter, largest, sms).buildSearched()
                    : CustomOp());
    }
  }

private:
  /// Returns false for a result without elements, which remains and becomes a
  /// group without vCTAs. ark-normalize-graph has replaced the result of no
  /// slices by a constant.
  template <typename SegmentOp>
  static bool isExpanded(SegmentOp op) {
    return getTensorType(op.getResult()).getNumElements() > 0 &&
           !op.getValueIfEmpty();
  }

  static CustomOp expand(RewriterBase &rewriter, SegmentSumOp op,
                         TargetAttr target, int64_t sms,
                         SegmentListBuilder &lists) {
    if (!isExpanded(op))
      return {};
    SegmentExpander expander(rewriter, op, sms);
    Value indices = op.getIndices();
    if (!areListed(target, getTensorType(indices).getDimSize(0)))
      return expander.buildSearched();
    return expander.buildListed(lists.build(
        op.getLoc(), indices, static_cast<int64_t>(op.getSegments()),
        op->getAttr(ArkDialect::kPlanAttr)));
  }

  /// Replaces an op by the custom op for it, if there is one.
  template <typename SegmentOp>
  void replace(RewriterBase &rewriter, SegmentOp op, CustomOp custom) {
    if (!custom)
      return;
    custom->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    RankedTensorType type = getTensorType(op.getResult());
    Value result = ReshapeOp::create(rewriter, op.getLoc(), custom.getResult(),
                                     type.getShape());
    result = castBits(rewriter, result, type.getElementType());
    rewriter.replaceOp(op, result);
    ++numExpanded;
  }
};
} // namespace
