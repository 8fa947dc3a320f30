//===- ExpandSegmentSums.cpp - Turn segment sums into custom ops ----------===//
//
// A vCTA owns a block of segments. On GPUs it adds the slices that lists name;
// threads read several slices at once. Otherwise the vCTA reads all indices,
// and adds the slices that belong to its segments one after the other.
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
#define GEN_PASS_DEF_EXPANDSEGMENTSUMSPASS
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
struct SegmentSumShape {
  int64_t batches, slices, segments, columns;
};

/// Extents of the part of the result that a vCTA computes.
struct ResultTile {
  int64_t batches, segments, columns;
};
} // namespace

static SegmentSumShape getShape(SegmentSumOp op) {
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
static ResultTile chooseTile(const SegmentSumShape &shape, int64_t sms) {
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

/// Adds a slice of the operand to the slice `segment` of `sums`.
static Value addSlice(OpBuilder &builder, Location loc, Value operand,
                      Value position, Value sums, Value segment) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, sums);
  sizes[1] = builder.getIndexAttr(1);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> strides(3, one);
  SmallVector<OpFoldResult> from = {zero, position, zero};
  SmallVector<OpFoldResult> to = {zero, segment, zero};
  Value slice = tensor::ExtractSliceOp::create(builder, loc, operand, from,
                                               sizes, strides);
  Value sum =
      tensor::ExtractSliceOp::create(builder, loc, sums, to, sizes, strides);
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(3));
  SmallVector<utils::IteratorType> parallel(3, utils::IteratorType::parallel);
  auto added = linalg::GenericOp::create(
      builder, loc, sum.getType(), slice, sum, maps, parallel,
      [](OpBuilder &b, Location l, ValueRange v) {
        Type type = v[1].getType();
        Value term = widen(b, l, v[0], type);
        Value total = isa<FloatType>(type)
                          ? arith::AddFOp::create(b, l, v[1], term).getResult()
                          : arith::AddIOp::create(b, l, v[1], term).getResult();
        linalg::YieldOp::create(b, l, total);
      });
  return tensor::InsertSliceOp::create(builder, loc, added.getResult(0), sums,
                                       to, sizes, strides);
}

namespace {
/// Builds the body of one vCTA.
class BodyBuilder {
public:
  BodyBuilder(OpBuilder &builder, Location loc, Value operand, Value indices,
              Value first, Value count)
      : builder(builder), loc(loc), operand(operand), indices(indices),
        first(first), count(count) {}

  /// Adds all slices that belong to the vCTA's segments to `sums`.
  Value addSlices(Value sums, int64_t slices);

private:
  /// The segment of a slice; `isOwned` is true if the vCTA owns the segment.
  struct Segment {
    Value index, isOwned;
  };

  Value createIndex(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Segment getSegment(Value slice);
  Value addIfOwn(Value slice, Value sums);
  Value addRange(Value begin, Value end, Value sums);
  Value addRangeIfAnyIsOwned(Value begin, Value sums);
  Value createLoop(Value begin, Value end, Value sums,
                   function_ref<Value(Value index, Value sums)> body);
  Value createBranch(Value condition, Value sums, function_ref<Value()> then);

  OpBuilder &builder;
  Location loc;
  Value operand, indices;
  /// The first segment of the vCTA, and the number of its segments.
  Value first, count;
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

/// Creates a loop that replaces `sums` in each iteration.
Value BodyBuilder::createLoop(
    Value begin, Value end, Value sums,
    function_ref<Value(Value index, Value sums)> body) {
  auto loop =
      scf::ForOp::create(builder, loc, begin, end, createIndex(1), sums);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
  scf::YieldOp::create(builder, loc, next);
  return loop.getResult(0);
}

/// Creates a branch that replaces `sums` if a condition holds.
Value BodyBuilder::createBranch(Value condition, Value sums,
                                function_ref<Value()> then) {
  auto branch = scf::IfOp::create(builder, loc, sums.getType(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, then());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, sums);
  return branch.getResult(0);
}

Value BodyBuilder::addIfOwn(Value slice, Value sums) {
  Segment segment = getSegment(slice);
  return createBranch(segment.isOwned, sums, [&] {
    return addSlice(builder, loc, operand, slice, sums, segment.index);
  });
}

Value BodyBuilder::addRange(Value begin, Value end, Value sums) {
  return createLoop(begin, end, sums, [&](Value slice, Value current) {
    return addIfOwn(slice, current);
  });
}

/// Adds the vCTA's slices of a range of `kIndicesAtOnce` slices. Reads all
/// indices of the range before their first use, since one load after the other
/// takes a microsecond for seven indices.
Value BodyBuilder::addRangeIfAnyIsOwned(Value begin, Value sums) {
  Value isAnyOwned;
  for (int64_t i = 0; i < kIndicesAtOnce; ++i) {
    Value slice = arith::AddIOp::create(builder, loc, begin, createIndex(i));
    Value isOwned = getSegment(slice).isOwned;
    isAnyOwned = isAnyOwned
                     ? arith::OrIOp::create(builder, loc, isAnyOwned, isOwned)
                     : isOwned;
  }
  return createBranch(isAnyOwned, sums, [&] {
    Value end =
        arith::AddIOp::create(builder, loc, begin, createIndex(kIndicesAtOnce));
    return addRange(begin, end, sums);
  });
}

Value BodyBuilder::addSlices(Value sums, int64_t slices) {
  int64_t ranges = slices / kIndicesAtOnce;
  if (ranges > 0)
    sums = createLoop(createIndex(0), createIndex(ranges), sums,
                      [&](Value range, Value current) {
                        Value begin = arith::MulIOp::create(
                            builder, loc, range, createIndex(kIndicesAtOnce));
                        return addRangeIfAnyIsOwned(begin, current);
                      });
  if (slices % kIndicesAtOnce != 0)
    sums = addRange(createIndex(ranges * kIndicesAtOnce), createIndex(slices),
                    sums);
  return sums;
}

/// Builds the sums of all segments from `first` on.
static Value buildSums(OpBuilder &builder, Location loc, Value first,
                       int64_t slices, Value operand, Value indices,
                       Value out) {
  Type element = getTensorType(out).getElementType();
  Value none =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  Value zeros = linalg::FillOp::create(builder, loc, none, out).getResult(0);
  Value count = tensor::DimOp::create(builder, loc, out, 1);
  return BodyBuilder(builder, loc, operand, indices, first, count)
      .addSlices(zeros, slices);
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

namespace {
/// Replaces one sum by a custom op.
class SumExpander {
public:
  SumExpander(RewriterBase &rewriter, SegmentSumOp op, int64_t sms)
      : rewriter(rewriter), loc(op.getLoc()), op(op), shape(getShape(op)),
        tile(chooseTile(shape, sms)) {}

  /// Returns a sum of the slices that each vCTA finds among all indices.
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
  SegmentSumOp op;
  SegmentSumShape shape;
  ResultTile tile;
};
} // namespace

RegionAttr SumExpander::getRegion(ArrayRef<AffineExpr> offsets,
                                  ArrayRef<int64_t> sizes) {
  MLIRContext *context = rewriter.getContext();
  return RegionAttr::get(context, AffineMap::get(3, 0, offsets, context),
                         sizes);
}

/// Returns the operand as `batches x slices x columns`.
Value SumExpander::getOperand() {
  Value operand =
      ReshapeOp::create(rewriter, loc, op.getOperand(),
                        {shape.batches, shape.slices, shape.columns});
  return castBits(rewriter, operand,
                  getBodyType(getTensorType(operand).getElementType()));
}

/// Builds a custom op. Each vCTA reads all elements of `tables`, which have one
/// dimension. The arguments of `buildBody` are the body and the first segment.
CustomOp
SumExpander::build(ValueRange tables,
                   function_ref<Value(Block &body, Value first)> buildBody) {
  Value operand = getOperand();
  auto result = RankedTensorType::get(
      {shape.batches, shape.segments, shape.columns},
      getBodyType(getTensorType(op.getResult()).getElementType()));
  AffineExpr zero = rewriter.getAffineConstantExpr(0);
  AffineExpr batch = rewriter.getAffineDimExpr(0) * tile.batches;
  AffineExpr segment = rewriter.getAffineDimExpr(1) * tile.segments;
  AffineExpr column = rewriter.getAffineDimExpr(2) * tile.columns;
  RegionAttr slices = getRegion({batch, zero, column},
                                {tile.batches, shape.slices, tile.columns});
  RegionAttr sums = getRegion({batch, segment, column},
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
  types.push_back(getTileType(result, sums.getSizes()));
  SmallVector<int64_t> grid;
  for (auto [extent, size] : llvm::zip(result.getShape(), sums.getSizes()))
    grid.push_back(llvm::divideCeil(extent, size));
  auto custom = CustomOp::create(rewriter, loc, result, grid, inputs,
                                 rewriter.getArrayAttr(regions), sums);
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

CustomOp SumExpander::buildSearched() {
  return build(op.getIndices(), [&](Block &body, Value first) {
    return buildSums(rewriter, loc, first, shape.slices, body.getArgument(3),
                     body.getArgument(4), body.getArgument(5));
  });
}

CustomOp SumExpander::buildListed(const SegmentLists &lists) {
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
struct ExpandSegmentSumsPass
    : ark::impl::ExpandSegmentSumsPassBase<ExpandSegmentSumsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    TargetAttr target = findTarget(getOperation());
    int64_t sms = target ? target.getSms() : 1;
    SegmentListBuilder lists(rewriter, sms);
    for (auto op : llvm::make_early_inc_range(
             getOperation().getBody().getOps<SegmentSumOp>())) {
      // A result without elements remains, and becomes a group without vCTAs.
      // ark-normalize-graph has replaced a sum of no slices by zeros.
      RankedTensorType type = getTensorType(op.getResult());
      if (type.getNumElements() == 0 || op.getValueIfEmpty())
        continue;
      rewriter.setInsertionPoint(op);
      SumExpander expander(rewriter, op, sms);
      Value indices = op.getIndices();
      CustomOp custom;
      if (areListed(target, getTensorType(indices).getDimSize(0)))
        custom = expander.buildListed(lists.build(
            op.getLoc(), indices, static_cast<int64_t>(op.getSegments()),
            op->getAttr(ArkDialect::kPlanAttr)));
      else
        custom = expander.buildSearched();
      custom->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      Value result = ReshapeOp::create(rewriter, op.getLoc(),
                                       custom.getResult(), type.getShape());
      result = castBits(rewriter, result, type.getElementType());
      rewriter.replaceOp(op, result);
      ++numExpanded;
    }
  }
};
} // namespace
