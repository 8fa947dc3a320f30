//===- SegmentLists.cpp - The slices of each segment ----------------------===//
//
// A stable sort without writes to computed addresses. The rank of a slice is
// the number of slices that come before it, the order is the inverse
// permutation of the ranks, and a binary search finds the start of each
// segment. All of this depends on the indices alone, which a training step
// knows early.
//
//===----------------------------------------------------------------------===//

#include "passes/graph/SegmentLists.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "lib/support/GraphUtils.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Slices that a thread loads before it adds the first of them. Loads one after
/// the other take the latency of memory for each slice.
static constexpr int64_t kSlicesAtOnce = 8;

namespace {
/// Builds scalars at an insertion point.
struct Scalars {
  OpBuilder &builder;
  Location loc;

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value cast(Value value, Type type) {
    return arith::IndexCastOp::create(builder, loc, type, value);
  }
  Value loopIndex(int64_t loop) {
    return linalg::IndexOp::create(builder, loc, loop);
  }
  Value read(Value tensor, ValueRange position) {
    return tensor::ExtractOp::create(builder, loc, tensor, position);
  }
  Value readIndex(Value tensor, Value position) {
    return cast(read(tensor, position), builder.getIndexType());
  }
  /// Moves an index that was read from memory into a range from zero on. The
  /// proof of bounds does not know the contents of the lists.
  Value clamp(Value index, int64_t extent) {
    Value least = arith::MaxSIOp::create(builder, loc, index, this->index(0));
    return arith::MinSIOp::create(builder, loc, least, this->index(extent - 1));
  }
};

/// The body of a custom op whose result is a vector: the first element of the
/// vCTA, the tiles of the inputs, and the tile of the result.
struct VectorBody {
  Value first;
  ValueRange inputs;
  Value out;
};
} // namespace

//===----------------------------------------------------------------------===//
// Custom ops
//===----------------------------------------------------------------------===//

/// Creates a custom op whose result is a vector of `size` i32. Each SM computes
/// a block of the vector, from that block of the first `numBlocked` inputs and
/// from all elements of the others.
static Value createVector(OpBuilder &builder, Location loc, int64_t size,
                          int64_t sms, ValueRange inputs, size_t numBlocked,
                          function_ref<Value(const VectorBody &)> build) {
  MLIRContext *context = builder.getContext();
  int64_t block = llvm::divideCeil(size, sms);
  // Tiles of blocks are dynamic if the last block is clipped.
  int64_t tile = size % block == 0 ? block : ShapedType::kDynamic;
  auto region = [&](AffineExpr offset, int64_t extent) {
    return RegionAttr::get(context, AffineMap::get(1, 0, offset), {extent});
  };
  RegionAttr blocks = region(builder.getAffineDimExpr(0) * block, block);
  AffineExpr zero = builder.getAffineConstantExpr(0);
  SmallVector<Attribute> regions;
  SmallVector<Type> types = {builder.getIndexType()};
  for (auto [number, input] : llvm::enumerate(inputs)) {
    RankedTensorType type = getTensorType(input);
    bool isBlocked = number < numBlocked;
    regions.push_back(isBlocked ? blocks : region(zero, type.getDimSize(0)));
    types.push_back(isBlocked ? type.clone({tile}) : type);
  }
  auto result = RankedTensorType::get({size}, builder.getI32Type());
  types.push_back(result.clone({tile}));
  SmallVector<int64_t> grid(1, llvm::divideCeil(size, block));
  auto custom = CustomOp::create(builder, loc, result, grid, inputs,
                                 builder.getArrayAttr(regions), blocks);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&custom.getBody(), {}, types,
                                    SmallVector<Location>(types.size(), loc));
  Scalars scalars{builder, loc};
  Value first = arith::MulIOp::create(builder, loc, body->getArgument(0),
                                      scalars.index(block));
  ValueRange tiles = body->getArguments().drop_front();
  Value total = build({first, tiles.drop_back(), tiles.back()});
  YieldOp::create(builder, loc, total);
  return custom.getResult();
}

/// Sums `term` over all elements of the last input, for each element of the
/// result. The arguments of `term` are the positions of both elements, and
/// elements of the inputs.
static Value sumOverLast(
    OpBuilder &builder, Location loc, const VectorBody &body,
    function_ref<Value(Scalars, Value position, Value other, ValueRange inputs)>
        term) {
  Type type = getTensorType(body.out).getElementType();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  Value zeros =
      linalg::FillOp::create(builder, loc, zero, body.out).getResult(0);
  SmallVector<AffineMap> maps(
      body.inputs.size() + 1,
      AffineMap::get(2, 0, builder.getAffineDimExpr(0)));
  maps[body.inputs.size() - 1] =
      AffineMap::get(2, 0, builder.getAffineDimExpr(1));
  SmallVector<utils::IteratorType> loops = {utils::IteratorType::parallel,
                                            utils::IteratorType::reduction};
  auto sum = linalg::GenericOp::create(
      builder, loc, zeros.getType(), body.inputs, zeros, maps, loops,
      [&](OpBuilder &b, Location l, ValueRange elements) {
        Scalars s{b, l};
        Value position = s.add(body.first, s.loopIndex(0));
        Value next = term(s, position, s.loopIndex(1), elements.drop_back());
        linalg::YieldOp::create(b, l, s.add(elements.back(), next));
      });
  return sum.getResult(0);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// Returns the ranks: for each slice, the number of slices with a smaller
/// index, or with an equal index and a smaller position.
Value SegmentListBuilder::countSmaller(Location loc, Value indices) {
  using Predicate = arith::CmpIPredicate;
  auto isEarlier = [&](Scalars s, Value position, Value other,
                       ValueRange elements) -> Value {
    Value own = elements[0], index = elements[1];
    Value isSmaller = s.compare(Predicate::slt, index, own);
    Value isEqual = s.compare(Predicate::eq, index, own);
    Value isBefore = s.compare(Predicate::slt, other, position);
    Value comes = arith::OrIOp::create(
        s.builder, loc, isSmaller,
        arith::AndIOp::create(s.builder, loc, isEqual, isBefore));
    return arith::ExtUIOp::create(s.builder, loc, s.builder.getI32Type(),
                                  comes);
  };
  return createVector(builder, loc, getTensorType(indices).getDimSize(0), sms,
                      {indices, indices}, /*numBlocked=*/1,
                      [&](const VectorBody &body) {
                        return sumOverLast(builder, loc, body, isEarlier);
                      });
}

/// Returns the order of the slices by their ranks. Exactly one slice has each
/// rank, so that its position is the only summand.
Value SegmentListBuilder::invert(Location loc, Value ranks) {
  auto ifRanked = [&](Scalars s, Value position, Value other,
                      ValueRange elements) -> Value {
    Type type = elements[0].getType();
    Value isRanked = s.compare(arith::CmpIPredicate::eq, elements[0],
                               s.cast(position, type));
    Value none =
        arith::ConstantOp::create(s.builder, loc, s.builder.getZeroAttr(type));
    return s.select(isRanked, s.cast(other, type), none);
  };
  return createVector(builder, loc, getTensorType(ranks).getDimSize(0), sms,
                      ranks, /*numBlocked=*/0, [&](const VectorBody &body) {
                        return sumOverLast(builder, loc, body, ifRanked);
                      });
}

/// Returns the number of slices whose indices are smaller than `segment`, by a
/// binary search in the order. All threads take equally many steps.
static Value findStart(Scalars s, Value indices, Value order, Value segment) {
  int64_t slices = getTensorType(order).getDimSize(0);
  Type type = getTensorType(indices).getElementType();
  Value wanted = s.cast(segment, type);
  int64_t steps = llvm::Log2_64_Ceil(slices + 1);
  Value zero = s.index(0), one = s.index(1);
  auto loop =
      scf::ForOp::create(s.builder, s.loc, zero, s.index(steps), one,
                         ValueRange{zero, s.index(int64_t(1) << (steps - 1))});
  OpBuilder::InsertionGuard guard(s.builder);
  s.builder.setInsertionPointToStart(loop.getBody());
  Value found = loop.getRegionIterArg(0), step = loop.getRegionIterArg(1);
  Value next = s.add(found, step);
  Value isInside = s.compare(arith::CmpIPredicate::sle, next, s.index(slices));
  Value last = arith::SubIOp::create(s.builder, s.loc, next, one);
  Value slice = s.readIndex(order, s.clamp(last, slices));
  Value index = s.read(indices, s.clamp(slice, slices));
  Value isSmaller = s.compare(arith::CmpIPredicate::slt, index, wanted);
  Value isBefore = arith::AndIOp::create(s.builder, s.loc, isInside, isSmaller);
  Value half = arith::ShRUIOp::create(s.builder, s.loc, step, one);
  scf::YieldOp::create(s.builder, s.loc,
                       ValueRange{s.select(isBefore, next, found), half});
  return loop.getResult(0);
}

/// Returns the starts of the lists and the end of the last one. Indices that
/// are no segments come before the first list or after the last one.
Value SegmentListBuilder::findStarts(Location loc, Value indices, Value order,
                                     int64_t segments) {
  AffineMap map = builder.getMultiDimIdentityMap(1);
  return createVector(builder, loc, segments + 1, sms, {indices, order},
                      /*numBlocked=*/0, [&](const VectorBody &body) {
                        auto found = linalg::GenericOp::create(
                            builder, loc, body.out.getType(), ValueRange{},
                            body.out, map, utils::IteratorType::parallel,
                            [&](OpBuilder &b, Location l, ValueRange elements) {
                              Scalars s{b, l};
                              Value segment = s.add(body.first, s.loopIndex(0));
                              Value start = findStart(s, body.inputs[0],
                                                      body.inputs[1], segment);
                              linalg::YieldOp::create(
                                  b, l, s.cast(start, elements[0].getType()));
                            });
                        return found.getResult(0);
                      });
}

/// Gives the op that computes `list` the plan of a sum.
static Value withPlan(Value list, Attribute plan) {
  if (plan)
    list.getDefiningOp()->setAttr(ArkDialect::kPlanAttr, plan);
  return list;
}

SegmentLists SegmentListBuilder::build(Location loc, Value indices,
                                       int64_t segments, Attribute plan) {
  Value &order = orders[{indices, plan}];
  if (!order) {
    Value ranks = withPlan(countSmaller(loc, indices), plan);
    order = withPlan(invert(loc, ranks), plan);
  }
  Value &start = starts[{order, segments}];
  if (!start)
    start = withPlan(findStarts(loc, indices, order, segments), plan);
  return {order, start};
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// Builds the sum of one element over a list of slices.
class ListSum {
public:
  ListSum(Scalars s, Value operand, Value order, Value batch, Value column)
      : s(s), operand(operand), order(order), batch(batch), column(column) {}

  /// Returns the sum of the slices from `begin` to `end - 1` of the order. A
  /// list has `mean` slices on average.
  Value build(Value begin, Value end, Type type, double mean);

private:
  SmallVector<Value> readSlices(Value begin, Value last, Type type);

  Scalars s;
  Value operand, order, batch, column;
};
} // namespace

/// Reads the elements of the next slices. Positions after the end repeat the
/// last one.
SmallVector<Value> ListSum::readSlices(Value begin, Value last, Type type) {
  int64_t count = getTensorType(order).getDimSize(0);
  SmallVector<Value> slices, elements;
  for (int64_t i = 0; i < kSlicesAtOnce; ++i) {
    Value position = arith::MinSIOp::create(s.builder, s.loc,
                                            s.add(begin, s.index(i)), last);
    Value slice = s.readIndex(order, s.clamp(position, count));
    slices.push_back(s.clamp(slice, count));
  }
  for (Value slice : slices) {
    Value element = s.read(operand, {batch, slice, column});
    if (element.getType() != type)
      element = arith::ExtFOp::create(s.builder, s.loc, type, element);
    elements.push_back(element);
  }
  return elements;
}

Value ListSum::build(Value begin, Value end, Type type, double mean) {
  Value zero =
      arith::ConstantOp::create(s.builder, s.loc, s.builder.getZeroAttr(type));
  Value last = arith::SubIOp::create(s.builder, s.loc, end, s.index(1));
  auto loop = scf::ForOp::create(s.builder, s.loc, begin, end,
                                 s.index(kSlicesAtOnce), zero);
  // Short lists take one iteration if they are not empty, and on average half
  // of the last iteration of a long list is used.
  double trips = std::min(mean, mean / kSlicesAtOnce + 0.5);
  loop->setAttr(kMeanTripsAttr, s.builder.getF64FloatAttr(trips));
  OpBuilder::InsertionGuard guard(s.builder);
  s.builder.setInsertionPointToStart(loop.getBody());
  Value position = loop.getInductionVar(), total = loop.getRegionIterArg(0);
  for (auto [i, element] : llvm::enumerate(readSlices(position, last, type))) {
    Value sum = isa<FloatType>(type)
                    ? arith::AddFOp::create(s.builder, s.loc, total, element)
                          .getResult()
                    : arith::AddIOp::create(s.builder, s.loc, total, element);
    Value exists =
        s.compare(arith::CmpIPredicate::slt, s.add(position, s.index(i)), end);
    total = s.select(exists, sum, total);
  }
  scf::YieldOp::create(s.builder, s.loc, total);
  return loop.getResult(0);
}

Value mlir::ark::buildListedSums(OpBuilder &builder, Location loc,
                                 Value operand, const SegmentLists &lists,
                                 Value first, Value out) {
  int64_t slices = getTensorType(lists.order).getDimSize(0);
  int64_t segments = getTensorType(lists.starts).getDimSize(0) - 1;
  AffineMap map = builder.getMultiDimIdentityMap(3);
  SmallVector<utils::IteratorType> loops(3, utils::IteratorType::parallel);
  auto sums = linalg::GenericOp::create(
      builder, loc, out.getType(), ValueRange{}, out, map, loops,
      [&](OpBuilder &b, Location l, ValueRange elements) {
        Scalars s{b, l};
        Value segment = s.add(first, s.loopIndex(1));
        Value next = s.add(segment, s.index(1));
        Value begin = s.clamp(s.readIndex(lists.starts, segment), slices + 1);
        Value end = s.clamp(s.readIndex(lists.starts, next), slices + 1);
        ListSum sum(s, operand, lists.order, s.loopIndex(0), s.loopIndex(2));
        linalg::YieldOp::create(b, l,
                                sum.build(begin, end, elements[0].getType(),
                                          double(slices) / double(segments)));
      });
  return sums.getResult(0);
}
