//===- LaneReduction.cpp - One thread's share of a reduction --------------===//

#include "passes/target/simt/LaneReduction.h"

#include "lib/support/BufferView.h"
#include "passes/target/simt/OpaqueNumber.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/IterationSpace.h"
#include "passes/target/support/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Pieces whose loads a thread issues before it waits for the first piece.
static constexpr int64_t kPiecesInFlight = 8;
/// Pieces of the remainder that are loaded together. Pieces beyond the end are
/// computed and discarded.
static constexpr int64_t kLeftInFlight = 4;
/// Upper bound of the vectors that a thread holds in registers.
static constexpr int64_t kMaxVectors = 24;
/// A buffer up to this size stays in the L1 after its first read.
static constexpr int64_t kMaxL1Bytes = 256 * 1024;

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Returns the op that combines two values of a result, if there is exactly
/// one.
static Operation *getCombiner(scf::ParallelOp loop, unsigned result) {
  auto reduce = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  Block &block = reduce.getReductions()[result].front();
  return llvm::hasSingleElement(block.without_terminator()) ? &block.front()
                                                            : nullptr;
}

static bool beginsWithNeutral(scf::ParallelOp loop, unsigned result) {
  Operation *combiner = getCombiner(loop, result);
  std::optional<TypedAttr> neutral =
      combiner ? arith::getNeutralElement(combiner) : std::nullopt;
  Attribute init;
  return neutral &&
         matchPattern(loop.getInitVals()[result], m_Constant(&init)) &&
         init == *neutral;
}

std::optional<LaneReduction> LaneReduction::match(scf::ParallelOp loop) {
  for (unsigned result = 0; result < loop.getNumReductions(); ++result)
    if (!beginsWithNeutral(loop, result))
      return std::nullopt;
  return LaneReduction(loop);
}

LaneReduction::LaneReduction(scf::ParallelOp loop) : loop(loop) {
  chooseWidth();
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

/// Returns true if the loop runs from zero to a constant with step one.
bool LaneReduction::hasKnownLength() const {
  scf::ParallelOp source = loop;
  return source.getNumLoops() == 1 &&
         isConstantIntValue(source.getLowerBound().front(), 0) &&
         isConstantIntValue(source.getStep().front(), 1) &&
         getConstantIntValue(source.getUpperBound().front());
}

/// Sets the iterations per piece to the number of the narrowest elements that
/// fill a load.
void LaneReduction::chooseWidth() {
  std::optional<int64_t> size = getSizeBound(loop);
  if (!size || !hasKnownLength())
    return;
  auto isFixed = [&](Value value) {
    return loop.isDefinedOutsideOfLoop(value);
  };
  SmallVector<memref::LoadOp> loads;
  for (auto load : loop.getBody()->getOps<memref::LoadOp>())
    if (loadsNeighbours(load, loop.getInductionVars().front(), isFixed))
      loads.push_back(load);
  for (memref::LoadOp load : loads)
    width = std::max(width, kLoadBytes / getBytes(load));
  if (*size % width != 0)
    width = 1;
  for (memref::LoadOp load : loads)
    if (width > 1 && isAlignedFor(load, width))
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

Value LaneReduction::combine(OpBuilder &builder, unsigned result, Value a,
                             Value b) const {
  Operation *clone = builder.clone(*getCombiner(loop, result));
  clone->setOperands({a, b});
  return clone->getResult(0);
}

/// Creates the vector loads for which `isWanted` returns true.
void LaneReduction::loadVectors(OpBuilder &builder, Value begin,
                                function_ref<bool(memref::LoadOp)> isWanted,
                                MutableArrayRef<Value> vectors) {
  for (auto [load, vector] : llvm::zip(wideLoads, vectors)) {
    if (!isWanted(load))
      continue;
    SmallVector<Value> indices(load.getIndices());
    indices.back() = begin;
    vector = createWideLoad(builder, load, load.getMemRef(), indices, width);
  }
}

/// Returns true if the buffer of a load fits into the L1.
static bool fitsL1(memref::LoadOp load) {
  auto type = cast<MemRefType>(getRoot(load.getMemRef()).getType());
  return type.hasStaticShape() && getBufferBytes(type) <= kMaxL1Bytes;
}

/// Combines one iteration with `sums`. `mapping` maps its variables. `exists`
/// is true if the iteration exists; null means true.
void LaneReduction::buildIteration(OpBuilder &builder, IRMapping &mapping,
                                   Value exists, SmallVectorImpl<Value> &sums) {
  for (Operation &op : loop.getBody()->without_terminator())
    if (!llvm::is_contained(wideLoads, &op))
      builder.clone(op, mapping);
  auto terminator = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  for (auto [result, source] : llvm::enumerate(terminator.getOperands())) {
    Value value = mapping.lookupOrDefault(source);
    if (exists)
      value = arith::SelectOp::create(builder, loop.getLoc(), exists, value,
                                      loop.getInitVals()[result]);
    sums[result] = combine(builder, result, sums[result], value);
  }
}

/// Combines the iterations of one piece with `sums`.
void LaneReduction::buildPiece(OpBuilder &builder, Value begin,
                               ArrayRef<Value> vectors, Value exists,
                               SmallVectorImpl<Value> &sums) {
  Location loc = loop.getLoc();
  for (int64_t i = 0; i < width; ++i) {
    IRMapping mapping;
    Value offset = arith::ConstantIndexOp::create(builder, loc, i);
    mapping.map(loop.getInductionVars().front(),
                arith::AddIOp::create(builder, loc, begin, offset));
    for (auto [load, vector] : llvm::zip(wideLoads, vectors))
      mapping.map(load.getResult(),
                  vector::ExtractOp::create(builder, loc, vector, i));
    buildIteration(builder, mapping, exists, sums);
  }
}

/// Issues all loads first, so that their latencies overlap. If registers do not
/// suffice, elements of small buffers are loaded when they are used.
void LaneReduction::buildPieces(OpBuilder &builder, ArrayRef<Value> begins,
                                ArrayRef<Value> piecesExist, bool isUniform,
                                SmallVectorImpl<Value> &sums) {
  int64_t count = begins.size();
  bool hasHighRegisterPressure =
      isUniform && count * wideLoads.size() > kMaxVectors;
  auto comesLate = [&](memref::LoadOp load) {
    return hasHighRegisterPressure && fitsL1(load);
  };
  auto comesFirst = [&](memref::LoadOp load) { return !comesLate(load); };
  SmallVector<SmallVector<Value>> vectors(count,
                                          SmallVector<Value>(wideLoads.size()));
  for (auto [begin, loaded] : llvm::zip(begins, vectors))
    loadVectors(builder, begin, comesFirst, loaded);
  for (auto [begin, loaded, exists] : llvm::zip(begins, vectors, piecesExist)) {
    if (llvm::any_of(wideLoads, comesLate))
      loadVectors(builder, createOpaqueFence(builder, loop.getLoc(), begin),
                  comesLate, loaded);
    buildPiece(builder, begin, loaded, exists, sums);
  }
}

/// Builds a loop over pieces at distance `distance`, `inFlight` pieces per
/// iteration. The loop runs while the first piece of an iteration exists. In a
/// ragged loop the other pieces may not exist; the first piece is read instead.
/// In a uniform loop all threads have the same number of pieces.
scf::ForOp LaneReduction::buildShare(OpBuilder &builder, Value begin, Value end,
                                     int64_t distance, int64_t inFlight,
                                     bool isRagged, bool isUniform,
                                     ValueRange sums) {
  Location loc = loop.getLoc();
  Value step =
      arith::ConstantIndexOp::create(builder, loc, inFlight * distance);
  auto share = scf::ForOp::create(builder, loc, begin, end, step, sums);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(share.getBody());
  Value first = share.getInductionVar();
  SmallVector<Value> begins = {first}, piecesExist = {Value()};
  for (int64_t i = 1; i < inFlight; ++i) {
    Value next = arith::AddIOp::create(
        builder, loc, first,
        arith::ConstantIndexOp::create(builder, loc, i * distance));
    Value exists;
    if (isRagged) {
      exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     next, end);
      next = arith::SelectOp::create(builder, loc, exists, next, first);
    }
    begins.push_back(next);
    piecesExist.push_back(exists);
  }
  SmallVector<Value> values(share.getRegionIterArgs());
  buildPieces(builder, begins, piecesExist, isUniform, values);
  scf::YieldOp::create(builder, loc, values);
  return share;
}

/// Builds the share of a thread if every thread has `count` pieces.
SmallVector<Value> LaneReduction::buildUnrolled(OpBuilder &builder, Value lane,
                                                int64_t lanes, int64_t count) {
  Location loc = loop.getLoc();
  int64_t inFlight = std::min(count, kPiecesInFlight);
  while (count % inFlight != 0)
    --inFlight;
  int64_t distance = lanes * width;
  Value piece = arith::ConstantIndexOp::create(builder, loc, width);
  Value first = arith::MulIOp::create(builder, loc, lane, piece);
  Value all = arith::ConstantIndexOp::create(builder, loc, count * distance);
  Value end = arith::AddIOp::create(builder, loc, first, all);
  return buildShare(builder, first, end, distance, inFlight,
                    /*isRagged=*/false, /*isUniform=*/true, loop.getInitVals())
      .getResults();
}

/// Builds the share of a thread if threads may have different numbers of
/// pieces.
SmallVector<Value> LaneReduction::buildStrided(OpBuilder &builder, Value lane,
                                               int64_t lanes) {
  Location loc = loop.getLoc();
  std::optional<int64_t> step = getConstantIntValue(loop.getStep()[0]);
  if (loop.getNumLoops() == 1 && step) {
    int64_t distance = lanes * width * *step;
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value first = arith::AddIOp::create(
        builder, loc, loop.getLowerBound()[0],
        arith::MulIOp::create(builder, loc, lane, constant(width * *step)));
    Value end = loop.getUpperBound()[0];
    // The number of pieces in flight is at most the total number of pieces.
    int64_t inFlight = kPiecesInFlight;
    if (std::optional<int64_t> pieces = getNumPieces())
      inFlight = std::clamp<int64_t>(llvm::divideCeil(*pieces, lanes), 1,
                                     kPiecesInFlight);
    // The first loop processes groups of `inFlight` pieces. The second loop
    // processes the remainder, whose pieces are loaded together as well.
    Value last = arith::SubIOp::create(builder, loc, end,
                                       constant((inFlight - 1) * distance));
    scf::ForOp several =
        buildShare(builder, first, last, distance, inFlight,
                   /*isRagged=*/false, /*isUniform=*/false, loop.getInitVals());
    Value left = arith::SubIOp::create(builder, loc, last, first);
    Value stride = constant(inFlight * distance);
    Value rounds = arith::MaxSIOp::create(
        builder, loc, constant(0),
        arith::CeilDivSIOp::create(builder, loc, left, stride));
    Value done = arith::AddIOp::create(
        builder, loc, first,
        arith::MulIOp::create(builder, loc, rounds, stride));
    if (inFlight == 1)
      return several.getResults();
    return buildShare(
               builder, done, end, distance, std::min(inFlight, kLeftInFlight),
               /*isRagged=*/true, /*isUniform=*/false, several.getResults())
        .getResults();
  }
  IterationSpace space(builder, loop);
  Value stride = arith::ConstantIndexOp::create(builder, loc, lanes);
  auto share = scf::ForOp::create(builder, loc, lane, space.size, stride,
                                  loop.getInitVals());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(share.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVars(),
              space.getVariables(builder, share.getInductionVar()));
  SmallVector<Value> sums(share.getRegionIterArgs());
  buildIteration(builder, mapping, /*exists=*/Value(), sums);
  scf::YieldOp::create(builder, loc, sums);
  return share.getResults();
}

SmallVector<Value> LaneReduction::build(OpBuilder &builder, Value lane,
                                        int64_t lanes) {
  std::optional<int64_t> pieces = getNumPieces();
  if (pieces && *pieces > 0 && hasKnownLength() && *pieces % lanes == 0)
    return buildUnrolled(builder, lane, lanes, *pieces / lanes);
  return buildStrided(builder, lane, lanes);
}
