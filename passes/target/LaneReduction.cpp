//===- LaneReduction.cpp - One thread's share of a reduction --------------===//

#include "passes/target/LaneReduction.h"

#include "passes/target/Alignment.h"
#include "passes/target/IterationSpace.h"

#include "lib/support/BufferView.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::ark;

/// The most that one instruction of a thread loads.
static constexpr int64_t kLoadBytes = 16;
/// Pieces that a thread asks for before it waits for the first of them.
static constexpr int64_t kPiecesInFlight = 8;

//===----------------------------------------------------------------------===//
// What can be shared
//===----------------------------------------------------------------------===//

/// The one op that a reducing loop combines two values with.
static Operation *getCombiner(scf::ParallelOp loop) {
  if (loop.getNumReductions() != 1)
    return nullptr;
  auto reduce = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  Block &block = reduce.getReductions().front().front();
  return llvm::hasSingleElement(block.without_terminator()) ? &block.front()
                                                            : nullptr;
}

std::optional<LaneReduction> LaneReduction::match(scf::ParallelOp loop) {
  Operation *combiner = getCombiner(loop);
  std::optional<TypedAttr> neutral =
      combiner ? arith::getNeutralElement(combiner) : std::nullopt;
  Attribute init;
  if (!neutral ||
      !matchPattern(loop.getInitVals().front(), m_Constant(&init)) ||
      init != *neutral)
    return std::nullopt;
  return LaneReduction(loop);
}

LaneReduction::LaneReduction(scf::ParallelOp loop) : loop(loop) {
  chooseWidth();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// Whether neighbouring iterations load neighbouring elements.
bool LaneReduction::isContiguous(memref::LoadOp load) const {
  scf::ParallelOp source = loop;
  SmallVector<int64_t> strides;
  int64_t offset;
  return load->getBlock() == source.getBody() && !load.getIndices().empty() &&
         load.getIndices().back() == source.getInductionVars().front() &&
         llvm::all_of(load.getIndices().drop_back(),
                      [&](Value index) {
                        return source.isDefinedOutsideOfLoop(index);
                      }) &&
         source.isDefinedOutsideOfLoop(load.getMemRef()) &&
         succeeded(
             getStridesAndOffset(load.getMemRefType(), strides, offset)) &&
         strides.back() == 1;
}

static int64_t getBytes(memref::LoadOp load) {
  return getElementBytes(load.getMemRefType().getElementType());
}

bool LaneReduction::fitsWidth(memref::LoadOp load) const {
  return getAlignment(load.getMemRef(), load.getIndices(), width) >=
         std::min(kLoadBytes, width * getBytes(load));
}

/// As many iterations as the narrowest elements fill a load.
void LaneReduction::chooseWidth() {
  std::optional<int64_t> size = getSizeBound(loop);
  if (loop.getNumLoops() != 1 || !size ||
      !isConstantIntValue(loop.getLowerBound().front(), 0) ||
      !isConstantIntValue(loop.getStep().front(), 1) ||
      !isConstantIntValue(loop.getUpperBound().front(), *size))
    return;
  SmallVector<memref::LoadOp> loads;
  for (auto load : loop.getBody()->getOps<memref::LoadOp>())
    if (isContiguous(load))
      loads.push_back(load);
  for (memref::LoadOp load : loads)
    width = std::max(width, kLoadBytes / getBytes(load));
  if (*size % width != 0)
    width = 1;
  for (memref::LoadOp load : loads)
    if (width > 1 && fitsWidth(load))
      wideLoads.push_back(load);
  if (wideLoads.empty())
    width = 1;
}

std::optional<int64_t> LaneReduction::getNumPieces() const {
  std::optional<int64_t> size = getSizeBound(loop);
  return size ? std::optional<int64_t>(*size / width) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value LaneReduction::combine(OpBuilder &builder, Value a, Value b) const {
  Operation *clone = builder.clone(*getCombiner(loop));
  clone->setOperands({a, b});
  return clone->getResult(0);
}

SmallVector<Value> LaneReduction::loadVectors(OpBuilder &builder, Value begin) {
  SmallVector<Value> vectors;
  for (memref::LoadOp load : wideLoads) {
    SmallVector<Value> indices(load.getIndices());
    indices.back() = begin;
    auto type = VectorType::get({width}, load.getMemRefType().getElementType());
    auto alignment =
        llvm::MaybeAlign(std::min(kLoadBytes, width * getBytes(load)));
    vectors.push_back(vector::LoadOp::create(builder, load.getLoc(), type,
                                             load.getMemRef(), indices,
                                             /*nontemporal=*/false, alignment));
  }
  return vectors;
}

/// Combines the iterations of one piece with `sum`.
Value LaneReduction::buildPiece(OpBuilder &builder, Value begin,
                                ArrayRef<Value> vectors, Value sum) {
  Location loc = loop.getLoc();
  auto terminator = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  for (int64_t i = 0; i < width; ++i) {
    IRMapping mapping;
    Value offset = arith::ConstantIndexOp::create(builder, loc, i);
    mapping.map(loop.getInductionVars().front(),
                arith::AddIOp::create(builder, loc, begin, offset));
    for (auto [load, vector] : llvm::zip(wideLoads, vectors))
      mapping.map(load.getResult(),
                  vector::ExtractOp::create(builder, loc, vector, i));
    for (Operation &op : loop.getBody()->without_terminator())
      if (!llvm::is_contained(wideLoads, &op))
        builder.clone(op, mapping);
    sum = combine(builder, sum,
                  mapping.lookupOrDefault(terminator.getOperands().front()));
  }
  return sum;
}

/// All loads come first, so that their latencies overlap.
Value LaneReduction::buildPieces(OpBuilder &builder, ArrayRef<Value> begins,
                                 Value sum) {
  SmallVector<SmallVector<Value>> vectors;
  for (Value begin : begins)
    vectors.push_back(loadVectors(builder, begin));
  for (auto [begin, loaded] : llvm::zip(begins, vectors))
    sum = buildPiece(builder, begin, loaded, sum);
  return sum;
}

/// Every thread has `count` pieces.
Value LaneReduction::buildUnrolled(OpBuilder &builder, Value lane,
                                   int64_t lanes, int64_t count) {
  Location loc = loop.getLoc();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  int64_t inFlight = std::min(count, kPiecesInFlight);
  while (count % inFlight != 0)
    --inFlight;
  Value first = arith::MulIOp::create(builder, loc, lane, constant(width));
  int64_t distance = lanes * width;
  auto share =
      scf::ForOp::create(builder, loc, constant(0), constant(count * distance),
                         constant(inFlight * distance), loop.getInitVals());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(share.getBody());
  Value base =
      arith::AddIOp::create(builder, loc, share.getInductionVar(), first);
  SmallVector<Value> begins;
  for (int64_t i = 0; i < inFlight; ++i)
    begins.push_back(
        arith::AddIOp::create(builder, loc, base, constant(i * distance)));
  Value sum = buildPieces(builder, begins, share.getRegionIterArgs().front());
  scf::YieldOp::create(builder, loc, sum);
  return share.getResult(0);
}

/// Every thread has as many pieces as there are for it.
Value LaneReduction::buildStrided(OpBuilder &builder, Value lane,
                                  int64_t lanes) {
  Location loc = loop.getLoc();
  IterationSpace space(builder, loop);
  Value piece = arith::ConstantIndexOp::create(builder, loc, width);
  Value first = arith::MulIOp::create(builder, loc, lane, piece);
  Value stride = arith::ConstantIndexOp::create(builder, loc, lanes * width);
  auto share = scf::ForOp::create(builder, loc, first, space.size, stride,
                                  loop.getInitVals());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(share.getBody());
  Value sum = share.getRegionIterArgs().front();
  if (width > 1) {
    sum = buildPieces(builder, share.getInductionVar(), sum);
  } else {
    IRMapping mapping;
    mapping.map(loop.getInductionVars(),
                space.getVariables(builder, share.getInductionVar()));
    auto terminator = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
    for (Operation &op : loop.getBody()->without_terminator())
      builder.clone(op, mapping);
    sum = combine(builder, sum,
                  mapping.lookupOrDefault(terminator.getOperands().front()));
  }
  scf::YieldOp::create(builder, loc, sum);
  return share.getResult(0);
}

Value LaneReduction::build(OpBuilder &builder, Value lane, int64_t lanes) {
  std::optional<int64_t> pieces = getNumPieces();
  if (width > 1 && *pieces % lanes == 0)
    return buildUnrolled(builder, lane, lanes, *pieces / lanes);
  return buildStrided(builder, lane, lanes);
}
