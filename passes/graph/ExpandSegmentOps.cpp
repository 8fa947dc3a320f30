//===- ExpandSegmentOps.cpp - Turn segment sums and maxima into customs ---===//
//
// A vCTA owns a block of segments. On GPUs, a vCTA adds the slices that lists
// name; threads read several slices at once. Otherwise, and for maxima, a vCTA
// reads all indices, and joins the slices that belong to its segments one after
// the other.
//
//===----------------------------------------------------------------------===//

#include "lib/analysis/CostModel.h"
#include "lib/support/GraphUtils.h"
#include "passes/graph/Passes.h"
#include "passes/graph/SegmentLists.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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
/// Indices that a vCTA reads at once.
static constexpr int64_t kIndicesAtOnce = 32;
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
// Body
//===----------------------------------------------------------------------===//

/// Converts a narrower float to the type of the sum.
static Value widen(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return arith::ExtFOp::create(builder, loc, type, value);
}

/// Joins an element of a slice with the element of its segment.
using Join = Value (*)(OpBuilder &builder, Location loc, Value segment,
                       Value slice);

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

static Join getJoin(SegmentSumOp) { return createSum; }

static Join getJoin(SegmentMaxOp op) {
  Type element = getTensorType(op.getOperand()).getElementType();
  return element.isUnsignedInteger() ? createUnsignedMax : createMax;
}

/// Joins a slice of the operand with the slice `segment` of `joined`.
static Value joinSlice(OpBuilder &builder, Location loc, Value operand,
                       Value position, Value joined, Value segment, Join join) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, joined);
  sizes[1] = builder.getIndexAttr(1);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> strides(3, one);
  SmallVector<OpFoldResult> from = {zero, position, zero};
  SmallVector<OpFoldResult> to = {zero, segment, zero};
  Value slice = tensor::ExtractSliceOp::create(builder, loc, operand, from,
                                               sizes, strides);
  Value present =
      tensor::ExtractSliceOp::create(builder, loc, joined, to, sizes, strides);
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(3));
  SmallVector<utils::IteratorType> parallel(3, utils::IteratorType::parallel);
  auto next = linalg::GenericOp::create(
      builder, loc, present.getType(), slice, present, maps, parallel,
      [join](OpBuilder &b, Location l, ValueRange v) {
        linalg::YieldOp::create(b, l, join(b, l, v[1], v[0]));
      });
  return tensor::InsertSliceOp::create(builder, loc, next.getResult(0), joined,
                                       to, sizes, strides);
}

namespace {
/// Builds the body of one vCTA.
class BodyBuilder {
public:
  BodyBuilder(OpBuilder &builder, Location loc, Value operand, Value indices,
              Value first, Value count, Join join)
      : builder(builder), loc(loc), operand(operand), indices(indices),
        first(first), count(count), join(join) {}

  /// Joins all slices that belong to the vCTA's segments with `joined`.
  Value joinSlices(Value joined, int64_t slices);

private:
  /// The segment of a slice; `isOwned` is true if the vCTA owns the segment.
  struct Segment {
    Value index, isOwned;
  };

  Value createIndex(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Segment getSegment(Value slice);
  Value joinIfOwn(Value slice, Value joined);
  Value joinRange(Value begin, Value end, Value joined);
  Value joinRangeIfAnyIsOwned(Value begin, Value joined);
  Value createLoop(Value begin, Value end, Value joined,
                   function_ref<Value(Value index, Value joined)> body);
  Value createBranch(Value condition, Value joined, function_ref<Value()> then);

  OpBuilder &builder;
  Location loc;
  Value operand, indices;
  /// The first segment of the vCTA, and the number of its segments.
  Value first, count;
  Join join;
};
} // namespace

BodyBuilder::Segment BodyBuilder::getSegment(Value slice) {
  Value entry = tensor::ExtractOp::create(builder, loc, indices, slice);
  Value named =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), entry);
  Value index = arith::SubIOp::create(builder, loc, named, first);
  Value after = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      index, createIndex(0));
  Value before = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       index, count);
  return {index, arith::AndIOp::create(builder, loc, after, before)};
}

/// Creates a loop that replaces `joined` in each iteration.
Value BodyBuilder::createLoop(
    Value begin, Value end, Value joined,
    function_ref<Value(Value index, Value joined)> body) {
  auto loop =
      scf::ForOp::create(builder, loc, begin, end, createIndex(1), joined);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(builder, loc, next);
  return loop.getResult(0);
}

/// Creates a branch that replaces `joined` if a condition holds.
Value BodyBuilder::createBranch(Value condition, Value joined,
                                function_ref<Value()> then) {
  auto branch = scf::IfOp::create(builder, loc, joined.getType(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, then());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, joined);
  return branch.getResult(0);
}

Value BodyBuilder::joinIfOwn(Value slice, Value joined) {
  Segment segment = getSegment(slice);
  return createBranch(segment.isOwned, joined, [&] {
    return joinSlice(builder, loc, operand, slice, joined, segment.index, join);
  });
}

Value BodyBuilder::joinRange(Value begin, Value end, Value joined) {
  return createLoop(begin, end, joined, [&](Value slice, Value current) {
    return joinIfOwn(slice, current);
  });
}

/// Joins the vCTA's slices of a range of `kIndicesAtOnce` slices. Reads all
/// indices of the range before their first use, since one load after the other
/// takes a microsecond for seven indices.
Value BodyBuilder::joinRangeIfAnyIsOwned(Value begin, Value joined) {
  Value isAnyOwned;
  for (int64_t i = 0; i < kIndicesAtOnce; ++i) {
    Value slice = arith::AddIOp::create(builder, loc, begin, createIndex(i));
    Value isOwned = getSegment(slice).isOwned;
    isAnyOwned = isAnyOwned
                     ? arith::OrIOp::create(builder, loc, isAnyOwned, isOwned)
                     : isOwned;
  }
  return createBranch(isAnyOwned, joined, [&] {
    Value end =
        arith::AddIOp::create(builder, loc, begin, createIndex(kIndicesAtOnce));
    return joinRange(begin, end, joined);
  });
}

Value BodyBuilder::joinSlices(Value joined, int64_t slices) {
  int64_t ranges = slices / kIndicesAtOnce;
  if (ranges > 0)
    joined = createLoop(createIndex(0), createIndex(ranges), joined,
                        [&](Value range, Value current) {
                          Value begin = arith::MulIOp::create(
                              builder, loc, range, createIndex(kIndicesAtOnce));
                          return joinRangeIfAnyIsOwned(begin, current);
                        });
  if (slices % kIndicesAtOnce != 0)
    joined = joinRange(createIndex(ranges * kIndicesAtOnce),
                       createIndex(slices), joined);
  return joined;
}

/// Builds all segments of a vCTA from `first` on. A segment without a slice is
/// `value`.
static Value buildSegments(OpBuilder &builder, Location loc, Value first,
                           int64_t slices, Value operand, Value indices,
                           Value out, TypedAttr value, Join join) {
  Value element = arith::ConstantOp::create(builder, loc, value);
  Value none = linalg::FillOp::create(builder, loc, element, out).getResult(0);
  Value count = tensor::DimOp::create(builder, loc, out, 1);
  return BodyBuilder(builder, loc, operand, indices, first, count, join)
      .joinSlices(none, slices);
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
  Join join;
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
    return buildSegments(rewriter, loc, first, shape.slices,
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
