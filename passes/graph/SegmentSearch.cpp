//===- SegmentSearch.cpp - Joins slices that a vCTA looks for -------------===//

#include "passes/graph/SegmentSearch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// Joins a slice of the operand with the slice `segment` of `joined`.
static Value joinSlice(OpBuilder &builder, Location loc, Value operand,
                       Value position, Value joined, Value segment,
                       SegmentJoin join) {
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
              Value first, Value count, SegmentJoin join)
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
  SegmentJoin join;
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

Value ark::buildSearchedSegments(OpBuilder &builder, Location loc, Value first,
                                 int64_t slices, Value operand, Value indices,
                                 Value out, TypedAttr value, SegmentJoin join) {
  Value element = arith::ConstantOp::create(builder, loc, value);
  Value none = linalg::FillOp::create(builder, loc, element, out).getResult(0);
  Value count = tensor::DimOp::create(builder, loc, out, 1);
  return BodyBuilder(builder, loc, operand, indices, first, count, join)
      .joinSlices(none, slices);
}
