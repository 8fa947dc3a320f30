//===- AttentionStreams.cpp - Attention loop for few rows -----------------===//

#include "passes/target/attention/AttentionTiles.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Up to this depth, registers hold keys and values at once.
static constexpr int64_t kMaxDepthAtOnce = 64;

namespace {
/// Online softmax of a warp, with as many keys per step as an instruction has
/// elements along K. Every step updates the state of a row: the maximum score,
/// and the sum of exponentials and the weighted sum of values relative to the
/// maximum.
///
/// The scores are products of queries by keys. Of the rows of the left operand
/// that a thread holds, only the first one is a query; the others are zero. The
/// weighted sums are products of values by exponentials, with the columns of
/// values as rows of the left operand. In this arrangement, a thread computes
/// the scores whose exponentials it needs, so threads exchange no data between
/// the products. Queries and keys use the same permuted order of the depth, the
/// order in which threads load it.
class StreamBuilder : public AttentionTiles {
public:
  using AttentionTiles::AttentionTiles;
  void build(Value thread);

private:
  /// The values that the loop carries: the maximum score of the quad's row, the
  /// thread's partial sum of exponentials, and the accumulators of the weighted
  /// sums of values, by load, word and accumulator.
  struct State {
    Value maximum, sum;
    SmallVector<Value> products;

    SmallVector<Value> flatten() const;
    void assign(ValueRange all);
  };

  void assignThreads(Value thread);
  void loadQueries();
  SmallVector<Words> loadKeys(Value first);
  SmallVector<Words> loadValues();
  SmallVector<Value> getScores(ArrayRef<Words> keys);
  void addValues(State &state, ArrayRef<Words> values,
                 ArrayRef<Words> exponentials);
  void step(State &state, Value first);
  void store(const State &state);
  void storeProducts(const State &state);

  /// Returns the number of 16-byte loads per thread with which all quads
  /// together read the values of a key.
  int64_t getValueLoads() {
    return llvm::divideCeil(attention.depth, getNumQuads() * shape.width);
  }
  /// Returns the number of keys per step.
  int64_t getStepKeys() const { return instruction->getDepth(); }
  /// Returns the number of products of queries by keys per step.
  int64_t getStepTiles() const {
    return getStepKeys() / instruction->getColumns();
  }
  /// The row of the quad, clamped to the last row.
  Value row;
  SmallVector<Words> queries;
  /// The keys of the thread's scores in this step, and an i1 for each that is
  /// true if the key exists.
  SmallVector<Value> threadKeys, keyExists;
};
} // namespace

SmallVector<Value> StreamBuilder::State::flatten() const {
  SmallVector<Value> all = {maximum, sum};
  llvm::append_range(all, products);
  return all;
}

void StreamBuilder::State::assign(ValueRange all) {
  maximum = all[0];
  sum = all[1];
  products = llvm::to_vector_of<Value>(all.drop_front(2));
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void StreamBuilder::assignThreads(Value thread) {
  AttentionTiles::assignThreads(thread);
  row = shape.rows == getNumQuads()
            ? quad
            : arith::MinSIOp::create(builder, quad, index(shape.rows - 1))
                  .getResult();
}

void StreamBuilder::loadQueries() {
  SmallVector<Value> rowIndices = getRowIndices(row);
  for (int64_t loadIndex = 0; loadIndex < getKeyLoads(); ++loadIndex)
    queries.push_back(
        load(attention.query, rowIndices,
             mul(add(inQuad, loadIndex * getQuadThreads()), shape.width),
             getQuadThreads()));
}

/// Loads one key for every quad and tile. Indices beyond the last key are
/// clamped to the last key.
SmallVector<AttentionTiles::Words> StreamBuilder::loadKeys(Value first) {
  SmallVector<Words> keys;
  Value last = arith::SubIOp::create(builder, length, index(1));
  for (int64_t tile = 0; tile < getStepTiles(); ++tile) {
    Value key = arith::MinSIOp::create(
        builder, add(add(first, quad), tile * instruction->getColumns()), last);
    for (int64_t loadIndex = 0; loadIndex < getKeyLoads(); ++loadIndex)
      keys.push_back(
          load(attention.key, key,
               mul(add(inQuad, loadIndex * getQuadThreads()), shape.width),
               getQuadThreads()));
  }
  return keys;
}

/// Loads the values of the thread's keys; every quad loads other columns. Words
/// of keys beyond the last key become zero, because zero times the loaded value
/// may be NaN.
SmallVector<AttentionTiles::Words> StreamBuilder::loadValues() {
  SmallVector<Words> values;
  for (int64_t loadIndex = 0; loadIndex < getValueLoads(); ++loadIndex)
    for (auto [key, exists] : llvm::zip(threadKeys, keyExists)) {
      values.push_back(
          load(attention.value, key,
               mul(add(quad, loadIndex * getNumQuads()), shape.width),
               getNumQuads()));
      for (Value &value : values.back())
        value = arith::SelectOp::create(builder, exists, value, word(0));
    }
  return values;
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// Returns the thread's scores of each tile for the row of the quad.
SmallVector<Value> StreamBuilder::getScores(ArrayRef<Words> keys) {
  SmallVector<Value> scores;
  int64_t loads = getKeyLoads();
  Value zero = number(0), none = word(0);
  SmallVector<Words> rows(getRowsPerThread(), Words(getWordsPerThread(), none));
  for (int64_t tile = 0; tile < getStepTiles(); ++tile) {
    SmallVector<Value> accumulators(instruction->getNumAccumulators(), zero);
    for (int64_t load = 0; load < loads; ++load)
      for (int64_t first = 0; first < kWords; first += getWordsPerThread()) {
        auto select = [&](const Words &all) {
          return ArrayRef<Value>(all).slice(first, getWordsPerThread());
        };
        rows.front() = Words(select(queries[load]));
        accumulators =
            multiply(rows, select(keys[tile * loads + load]), accumulators);
      }
    llvm::append_range(scores, getRow(accumulators, /*threadRow=*/0));
  }
  SmallVector<Value> rowIndices = getRowIndices(row);
  for (auto [score, key, exists] : llvm::zip(scores, threadKeys, keyExists))
    score = finishScore(score, rowIndices, key, exists);
  return scores;
}

/// Computes products += values * exponentials.
void StreamBuilder::addValues(State &state, ArrayRef<Words> values,
                              ArrayRef<Words> exponentials) {
  MutableArrayRef<Value> products = state.products;
  int64_t numAccumulators = instruction->getNumAccumulators();
  for (; !values.empty(); values = values.drop_front(getKeysPerThread()))
    for (int64_t word = 0; word < kWords; ++word) {
      // The two columns of a word are rows of the operand.
      SmallVector<Words> columns(2);
      for (int64_t pair = 0; pair < getKeysPerThread(); pair += 2) {
        Value a = values[pair][word], b = values[pair + 1][word];
        columns[0].push_back(joinLow(a, b));
        columns[1].push_back(joinHigh(a, b));
      }
      for (const Words &term : exponentials)
        llvm::copy(
            multiply(columns, term, products.take_front(numAccumulators)),
            products.begin());
      products = products.drop_front(numAccumulators);
    }
}

void StreamBuilder::step(State &state, Value first) {
  Value last = arith::SubIOp::create(builder, length, index(1));
  threadKeys.clear();
  keyExists.clear();
  MatrixFragment exponentials = instruction->getRhs();
  for (int64_t threadKey = 0; threadKey < getKeysPerThread(); ++threadKey) {
    int64_t distance = exponentials.getOffset(threadKey).first;
    Value key =
        add(add(first, mul(inQuad, exponentials.getConsecutive(0))), distance);
    keyExists.push_back(isLess(key, length));
    threadKeys.push_back(arith::MinSIOp::create(builder, key, last));
  }
  SmallVector<Words> keys = loadKeys(first), values;
  if (attention.depth <= kMaxDepthAtOnce)
    values = loadValues();
  SmallVector<Value> scores = getScores(keys);
  if (values.empty())
    values = loadValues();

  Value largest = state.maximum;
  for (Value score : scores)
    largest = arith::MaximumFOp::create(builder, largest, score);
  largest =
      combine<arith::MaximumFOp>(largest, getAcc().getSharingDistances(0));
  Value finite = getFinite(largest);
  Value correction = getExponential(finite, state.maximum);
  state.maximum = largest;
  state.sum = arith::MulFOp::create(builder, state.sum, correction);
  for (Value &score : scores) {
    score = getExponential(finite, score);
    state.sum = arith::AddFOp::create(builder, state.sum, score);
  }
  // The accumulators of the weighted sums belong to rows of two other quads.
  SmallVector<Value> corrections;
  for (int64_t next = 0; next < getColumnsPerThread(); ++next)
    corrections.push_back(
        fetch(correction, mul(add(mul(inQuad, getColumnsPerThread()), next),
                              getAcc().getStride(0))));
  for (auto [i, product] : llvm::enumerate(state.products))
    product = arith::MulFOp::create(builder, product,
                                    corrections[i % getColumnsPerThread()]);
  addValues(state, values, split(scores));
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Stores the accumulators of the thread's rows. Every load corresponds to
/// neighbouring columns.
void StreamBuilder::storeProducts(const State &state) {
  auto type = VectorType::get(kStoreElements, builder.getF32Type());
  for (int64_t load = 0; load < getValueLoads(); ++load)
    for (int64_t next = 0; next < getColumnsPerThread(); ++next) {
      OpBuilder::InsertionGuard guard(builder);
      Value own = add(mul(inQuad, getColumnsPerThread()), next);
      Value column = mul(add(quad, load * getNumQuads()), shape.width);
      Value exists = arith::AndIOp::create(
          builder, isLess(own, index(shape.rows)), isInside(column));
      auto branch = scf::IfOp::create(builder, exists, /*withElse=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
      // Columns of the operand are rows of the result.
      SmallVector<Value> elements;
      for (int64_t i = 0; i < shape.width; ++i)
        elements.push_back(
            state.products[load * kWords * instruction->getNumAccumulators() +
                           i * getColumnsPerThread() + next]);
      for (int64_t begin = 0; begin < shape.width; begin += kStoreElements) {
        Value vector = vector::FromElementsOp::create(
            builder, type, ArrayRef(elements).slice(begin, kStoreElements));
        vector::StoreOp::create(
            builder, vector, buffers.products,
            ValueRange{warp, own, add(column, begin)},
            /*nontemporal=*/false,
            llvm::MaybeAlign(kStoreElements * kAccumulatorBytes));
      }
    }
}

void StreamBuilder::store(const State &state) {
  Value sum =
      combine<arith::AddFOp>(state.sum, getAcc().getSharingDistances(0));
  {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, isLess(quad, index(shape.rows)),
                                    /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
    memref::StoreOp::create(builder, state.maximum, buffers.maxima,
                            ValueRange{warp, quad});
    memref::StoreOp::create(builder, sum, buffers.sums, ValueRange{warp, quad});
  }
  storeProducts(state);
}

void StreamBuilder::build(Value thread) {
  assignThreads(thread);
  findLength();
  loadQueries();
  State state{getLeast(), number(0), {}};
  state.products.assign(
      getValueLoads() * kWords * instruction->getNumAccumulators(), number(0));
  Value begin = mul(warp, getStepKeys());
  Value stride = index(shape.warps * getStepKeys());
  auto loop =
      scf::ForOp::create(builder, begin, length, stride, state.flatten());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    state.assign(loop.getRegionIterArgs());
    step(state, loop.getInductionVar());
    scf::YieldOp::create(builder, state.flatten());
  }
  state.assign(loop.getResults());
  store(state);
}

void ark::buildAttentionStreams(ImplicitLocOpBuilder &builder,
                                const AttentionOps &attention,
                                const AttentionShape &shape,
                                const AttentionBuffers &buffers, Value thread) {
  StreamBuilder(builder, attention, shape, buffers).build(thread);
}
