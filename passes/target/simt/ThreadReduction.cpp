//===- ThreadReduction.cpp - One thread's share of a reduction ------------===//

#include "passes/target/simt/ThreadReduction.h"

#include "lib/support/BufferView.h"
#include "passes/target/memory_access/WideLoad.h"
#include "passes/target/simt/OpaqueNumber.h"
#include "passes/target/support/Aliasing.h"
#include "passes/target/support/IterationSpace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Strips whose loads a thread issues before it waits for the first strip.
static constexpr int64_t kStripsInFlight = 8;
/// Strips of the remainder that are loaded together. Strips beyond the end are
/// computed and discarded.
static constexpr int64_t kLeftInFlight = 4;
/// Upper bound of the vectors that a thread holds in registers.
static constexpr int64_t kMaxVectors = 24;
/// Bytes of the L1 of an SM if the module has no target.
static constexpr int64_t kUnknownL1 = 32 * 1024;

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

std::optional<ThreadReduction> ThreadReduction::match(scf::ParallelOp loop) {
  for (unsigned result = 0; result < loop.getNumReductions(); ++result)
    if (!beginsWithNeutral(loop, result))
      return std::nullopt;
  return ThreadReduction(loop);
}

ThreadReduction::ThreadReduction(scf::ParallelOp loop) : loop(loop) {
  chooseWidth();
}

//===----------------------------------------------------------------------===//
// Strips
//===----------------------------------------------------------------------===//

/// Returns true if the loop runs from zero to a constant with step one.
bool ThreadReduction::hasKnownLength() const {
  scf::ParallelOp source = loop;
  return source.getNumLoops() == 1 &&
         isConstantIntValue(source.getLowerBound().front(), 0) &&
         isConstantIntValue(source.getStep().front(), 1) &&
         getConstantIntValue(source.getUpperBound().front());
}

/// Sets the iterations per strip to the number of the narrowest elements that
/// fill a load.
void ThreadReduction::chooseWidth() {
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

std::optional<int64_t> ThreadReduction::getNumStrips() const {
  std::optional<int64_t> size = getSizeBound(loop);
  return size ? std::optional<int64_t>(*size / width) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value ThreadReduction::combine(OpBuilder &builder, unsigned result, Value a,
                               Value b) const {
  Operation *clone = builder.clone(*getCombiner(loop, result));
  clone->setOperands({a, b});
  return clone->getResult(0);
}

/// Creates the vector loads for which `isWanted` returns true.
void ThreadReduction::loadVectors(OpBuilder &builder, Value begin,
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

/// Returns true if the buffer of a load stays in the L1 of the target.
static bool fitsL1(memref::LoadOp load) {
  auto target = load->getParentOfType<ModuleOp>()->getAttrOfType<TargetAttr>(
      ArkDialect::kTargetAttr);
  auto type = cast<MemRefType>(getRoot(load.getMemRef()).getType());
  int64_t l1 = target ? target.getGpu().getL1() : kUnknownL1;
  return type.hasStaticShape() && getBufferBytes(type) <= l1;
}

/// Combines one iteration with `accumulators`. `mapping` maps its variables.
/// `exists` is true if the iteration exists; null means true.
void ThreadReduction::buildIteration(OpBuilder &builder, IRMapping &mapping,
                                     Value exists,
                                     SmallVectorImpl<Value> &accumulators) {
  for (Operation &op : loop.getBody()->without_terminator())
    if (!llvm::is_contained(wideLoads, &op))
      builder.clone(op, mapping);
  auto terminator = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  for (auto [result, source] : llvm::enumerate(terminator.getOperands())) {
    Value value = mapping.lookupOrDefault(source);
    if (exists)
      value = arith::SelectOp::create(builder, loop.getLoc(), exists, value,
                                      loop.getInitVals()[result]);
    accumulators[result] =
        combine(builder, result, accumulators[result], value);
  }
}

/// Combines the iterations of one strip with `accumulators`.
void ThreadReduction::buildStrip(OpBuilder &builder, Value begin,
                                 ArrayRef<Value> vectors, Value exists,
                                 SmallVectorImpl<Value> &accumulators) {
  Location loc = loop.getLoc();
  for (int64_t i = 0; i < width; ++i) {
    IRMapping mapping;
    Value offset = arith::ConstantIndexOp::create(builder, loc, i);
    mapping.map(loop.getInductionVars().front(),
                arith::AddIOp::create(builder, loc, begin, offset));
    for (auto [load, vector] : llvm::zip(wideLoads, vectors))
      mapping.map(load.getResult(),
                  vector::ExtractOp::create(builder, loc, vector, i));
    buildIteration(builder, mapping, exists, accumulators);
  }
}

/// Issues all loads first, so that their latencies overlap. If registers do not
/// suffice, elements of small buffers are loaded when they are used.
void ThreadReduction::buildStrips(OpBuilder &builder, ArrayRef<Value> begins,
                                  ArrayRef<Value> stripsExist, bool isUniform,
                                  SmallVectorImpl<Value> &accumulators) {
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
  for (auto [begin, loaded, exists] : llvm::zip(begins, vectors, stripsExist)) {
    if (llvm::any_of(wideLoads, comesLate))
      loadVectors(builder, createOpaqueFence(builder, loop.getLoc(), begin),
                  comesLate, loaded);
    buildStrip(builder, begin, loaded, exists, accumulators);
  }
}

/// Builds a loop over strips at distance `distance`, `inFlight` strips per
/// iteration. The loop runs while the first strip of an iteration exists. In a
/// ragged loop the other strips may not exist; the first strip is read instead.
/// In a uniform loop all threads have the same number of strips.
scf::ForOp ThreadReduction::buildShare(OpBuilder &builder, Value begin,
                                       Value end, int64_t distance,
                                       int64_t inFlight, bool isRagged,
                                       bool isUniform,
                                       ValueRange accumulators) {
  Location loc = loop.getLoc();
  Value step =
      arith::ConstantIndexOp::create(builder, loc, inFlight * distance);
  auto share = scf::ForOp::create(builder, loc, begin, end, step, accumulators);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(share.getBody());
  Value first = share.getInductionVar();
  SmallVector<Value> begins = {first}, stripsExist = {Value()};
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
    stripsExist.push_back(exists);
  }
  SmallVector<Value> values(share.getRegionIterArgs());
  buildStrips(builder, begins, stripsExist, isUniform, values);
  scf::YieldOp::create(builder, loc, values);
  return share;
}

/// Builds the share of a thread if every thread has `count` strips.
SmallVector<Value> ThreadReduction::buildUnrolled(OpBuilder &builder,
                                                  Value thread, int64_t threads,
                                                  int64_t count) {
  Location loc = loop.getLoc();
  int64_t inFlight = std::min(count, kStripsInFlight);
  while (count % inFlight != 0)
    --inFlight;
  int64_t distance = threads * width;
  Value strip = arith::ConstantIndexOp::create(builder, loc, width);
  Value first = arith::MulIOp::create(builder, loc, thread, strip);
  Value all = arith::ConstantIndexOp::create(builder, loc, count * distance);
  Value end = arith::AddIOp::create(builder, loc, first, all);
  return buildShare(builder, first, end, distance, inFlight,
                    /*isRagged=*/false, /*isUniform=*/true, loop.getInitVals())
      .getResults();
}

/// Builds the share of a thread if threads may have different numbers of
/// strips.
SmallVector<Value> ThreadReduction::buildStrided(OpBuilder &builder,
                                                 Value thread,
                                                 int64_t threads) {
  Location loc = loop.getLoc();
  std::optional<int64_t> step = getConstantIntValue(loop.getStep()[0]);
  if (loop.getNumLoops() == 1 && step) {
    int64_t distance = threads * width * *step;
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value first = arith::AddIOp::create(
        builder, loc, loop.getLowerBound()[0],
        arith::MulIOp::create(builder, loc, thread, constant(width * *step)));
    Value end = loop.getUpperBound()[0];
    // The number of strips in flight is at most the total number of strips.
    int64_t inFlight = kStripsInFlight;
    if (std::optional<int64_t> strips = getNumStrips())
      inFlight = std::clamp<int64_t>(llvm::divideCeil(*strips, threads), 1,
                                     kStripsInFlight);
    // The first loop processes groups of `inFlight` strips. The second loop
    // processes the remainder, whose strips are loaded together as well.
    Value last = arith::SubIOp::create(builder, loc, end,
                                       constant((inFlight - 1) * distance));
    scf::ForOp several =
        buildShare(builder, first, last, distance, inFlight,
                   /*isRagged=*/false, /*isUniform=*/false, loop.getInitVals());
    Value left = arith::SubIOp::create(builder, loc, last, first);
    Value stride = constant(inFlight * distance);
    Value iterations = arith::MaxSIOp::create(
        builder, loc, constant(0),
        arith::CeilDivSIOp::create(builder, loc, left, stride));
    Value done = arith::AddIOp::create(
        builder, loc, first,
        arith::MulIOp::create(builder, loc, iterations, stride));
    if (inFlight == 1)
      return several.getResults();
    return buildShare(
               builder, done, end, distance, std::min(inFlight, kLeftInFlight),
               /*isRagged=*/true, /*isUniform=*/false, several.getResults())
        .getResults();
  }
  IterationSpace space(builder, loop);
  Value stride = arith::ConstantIndexOp::create(builder, loc, threads);
  auto share = scf::ForOp::create(builder, loc, thread, space.size, stride,
                                  loop.getInitVals());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(share.getBody());
  IRMapping mapping;
  mapping.map(loop.getInductionVars(),
              space.getVariables(builder, share.getInductionVar()));
  SmallVector<Value> accumulators(share.getRegionIterArgs());
  buildIteration(builder, mapping, /*exists=*/Value(), accumulators);
  scf::YieldOp::create(builder, loc, accumulators);
  return share.getResults();
}

SmallVector<Value> ThreadReduction::build(OpBuilder &builder, Value thread,
                                          int64_t threads) {
  std::optional<int64_t> strips = getNumStrips();
  if (strips && *strips > 0 && hasKnownLength() && *strips % threads == 0)
    return buildUnrolled(builder, thread, threads, *strips / threads);
  return buildStrided(builder, thread, threads);
}
