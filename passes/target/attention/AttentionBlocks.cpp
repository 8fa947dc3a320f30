//===- AttentionBlocks.cpp - Attention loop for blocks of rows ------------===//

#include "passes/target/attention/AttentionThreadRows.h"
#include "passes/target/support/Bodies.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Up to this depth, registers hold the queries throughout the loop.
static constexpr int64_t kMaxKeptDepth = 32;

namespace {
/// Online softmax of a warp for a block of rows. The first product multiplies
/// queries by keys, and the second product multiplies exponentials by values. A
/// thread computes the exponentials in the registers in which the second
/// product reads them.
///
/// Queries and keys use the same permuted order of the depth, the order in
/// which threads load it. The columns of values are permuted as well: a quad
/// loads neighbouring columns, each of which belongs to another instruction.
class BlockBuilder : public AttentionThreadRows {
public:
  using AttentionThreadRows::AttentionThreadRows;
  void build(Value thread);

private:
  /// The values that the loop carries: the maximum scores of the rows, the
  /// thread's partial sums of exponentials, and the accumulators of the
  /// weighted sums of values, by instruction.
  struct State {
    SmallVector<Value> maxima, sums, products;

    SmallVector<Value> flatten() const;
    /// Sets the values from `all`, their flat list. `rows` is the number of
    /// rows of a thread.
    void assign(ValueRange all, int64_t rows);
  };
  /// A load of a row of values, in which each quad loads neighbouring columns:
  /// the first column of the first quad, and the number of columns of a quad.
  struct ValueLoad {
    int64_t begin, columns;
  };

  /// Returns the number of products of queries by keys per step.
  int64_t getStepTiles() const {
    return shape.getStepKeys() / shape.getTileColumns();
  }
  int64_t getWarpsPerBlock() const { return shape.warpsPerBlock; }
  void findValueLoads();
  void findRows(Value block);
  Words loadQueries(Value row, int64_t loadIndex);
  void findKeys(Value first);
  SmallVector<Words> loadKeys(Value first, int64_t loadIndex);
  Words loadValues(Value key, Value exists, const ValueLoad &valueLoad);
  SmallVector<SmallVector<Value>> getScores(Value first);
  void addValues(State &state, ArrayRef<SmallVector<Value>> exponentials);
  void step(State &state, Value first);
  State stream();
  void buildBlock(Value block);
  void store(const State &state);
  void finish(const State &state);
  SmallVector<Value> getColumns(ArrayRef<Value> products, int64_t loadIndex,
                                int64_t threadRow, int64_t next);

  SmallVector<ValueLoad> valueLoads;
  Value warpInBlock;
  SmallVector<SmallVector<Words>> queries;
  /// The keys of the thread's scores in this step, and an i1 for each that is
  /// true if the key exists. The i1 is null if all keys of the step exist.
  SmallVector<Value> threadKeys, keyExists;
};
} // namespace

SmallVector<Value> BlockBuilder::State::flatten() const {
  SmallVector<Value> all(maxima.begin(), maxima.end());
  llvm::append_range(all, sums);
  llvm::append_range(all, products);
  return all;
}

void BlockBuilder::State::assign(ValueRange all, int64_t rows) {
  maxima = llvm::to_vector_of<Value>(all.take_front(rows));
  sums = llvm::to_vector_of<Value>(all.slice(rows, rows));
  products = llvm::to_vector_of<Value>(all.drop_front(2 * rows));
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

void BlockBuilder::findValueLoads() {
  int64_t begin = 0;
  while (begin < attention.depth) {
    int64_t columns = std::min<int64_t>(
        shape.width,
        llvm::bit_floor<uint64_t>((attention.depth - begin) / getNumQuads()));
    valueLoads.push_back({begin, columns});
    begin += columns * getNumQuads();
  }
}

/// Finds the thread's rows of a block, and loads the queries that are kept.
void BlockBuilder::findRows(Value block) {
  assignRows(add(mul(block, shape.getBlockRows()), quad));
  queries.clear();
  if (attention.depth > kMaxKeptDepth)
    return;
  for (Value row : rows) {
    SmallVector<Words> &loaded = queries.emplace_back();
    for (int64_t loadIndex = 0; loadIndex < getKeyLoads(); ++loadIndex)
      loaded.push_back(loadQueries(row, loadIndex));
  }
}

AttentionTiles::Words BlockBuilder::loadQueries(Value row, int64_t loadIndex) {
  return load(attention.query, getRowIndices(row),
              mul(add(inQuad, loadIndex * getQuadThreads()), shape.width),
              getQuadThreads());
}

void BlockBuilder::findKeys(Value first) {
  threadKeys.clear();
  keyExists.clear();
  bool isWhole = isWholeStep();
  Value last =
      isWhole ? Value()
              : arith::SubIOp::create(builder, length, index(1)).getResult();
  for (int64_t tile = 0; tile < getStepTiles(); ++tile)
    for (int64_t next = 0; next < getColumnsPerThread(); ++next) {
      Value key = add(add(first, mul(inQuad, getColumnsPerThread())),
                      tile * shape.getTileColumns() + next);
      keyExists.push_back(isWhole ? Value() : isLess(key, length));
      threadKeys.push_back(
          isWhole ? key
                  : arith::MinSIOp::create(builder, key, last).getResult());
    }
}

/// Issues load `loadIndex` of the keys of a step: every quad loads one key for
/// each tile. Indices beyond the last key are clamped to the last key.
SmallVector<AttentionTiles::Words> BlockBuilder::loadKeys(Value first,
                                                          int64_t loadIndex) {
  SmallVector<Words> keys;
  for (int64_t tile = 0; tile < getStepTiles(); ++tile) {
    Value key = add(add(first, quad), tile * shape.getTileColumns());
    if (!isWholeStep())
      key = arith::MinSIOp::create(
          builder, key, arith::SubIOp::create(builder, length, index(1)));
    keys.push_back(
        load(attention.key, key,
             mul(add(inQuad, loadIndex * getQuadThreads()), shape.width),
             getQuadThreads()));
  }
  return keys;
}

/// Loads values of a key. Words of keys beyond the last key become zero,
/// because zero times the loaded value may be NaN.
AttentionTiles::Words BlockBuilder::loadValues(Value key, Value exists,
                                               const ValueLoad &valueLoad) {
  Value column = add(mul(quad, valueLoad.columns), valueLoad.begin);
  Value elements = vector::LoadOp::create(
      builder, VectorType::get(valueLoad.columns, element), attention.value,
      ValueRange{key, column}, /*nontemporal=*/false,
      llvm::MaybeAlign(valueLoad.columns * 2));
  int64_t count = valueLoad.columns / 2;
  Value vector = vector::BitCastOp::create(
      builder, VectorType::get(count, builder.getI32Type()), elements);
  Words words;
  for (int64_t i = 0; i < count; ++i) {
    words.push_back(vector::ExtractOp::create(builder, vector, i));
    if (exists)
      words.back() =
          arith::SelectOp::create(builder, exists, words.back(), word(0));
  }
  return words;
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

/// Returns the scores of each of the thread's rows. The registers do not hold
/// whole keys, so the product advances by one load along the depth at a time.
SmallVector<SmallVector<Value>> BlockBuilder::getScores(Value first) {
  SmallVector<SmallVector<Value>> accumulators(
      getStepTiles(),
      SmallVector<Value>(instruction->getNumAccumulators(), number(0)));
  SmallVector<Value> opaqueRows;
  // If registers do not hold the queries, every step loads them again. Opaque
  // rows keep compilers from hoisting these loads.
  if (queries.empty())
    for (Value row : rows)
      opaqueRows.push_back(makeOpaque(row));
  for (int64_t loadIndex = 0; loadIndex < getKeyLoads(); ++loadIndex) {
    SmallVector<Words> keys = loadKeys(first, loadIndex);
    SmallVector<Words> rowWords;
    for (int64_t threadRow = 0; threadRow < getRowsPerThread(); ++threadRow)
      rowWords.push_back(opaqueRows.empty()
                             ? queries[threadRow][loadIndex]
                             : loadQueries(opaqueRows[threadRow], loadIndex));
    for (auto [key, own] : llvm::zip(keys, accumulators))
      for (int64_t first = 0; first < kWords; first += getWordsPerThread()) {
        auto select = [&](const Words &all) {
          return Words(ArrayRef<Value>(all).slice(first, getWordsPerThread()));
        };
        llvm::copy(
            multiply(llvm::map_to_vector(rowWords, select), select(key), own),
            own.begin());
      }
  }
  SmallVector<SmallVector<Value>> scores(getRowsPerThread());
  for (ArrayRef<Value> tile : accumulators)
    for (int64_t threadRow = 0; threadRow < getRowsPerThread(); ++threadRow)
      llvm::append_range(scores[threadRow], getRow(tile, threadRow));
  for (int64_t threadRow = 0; threadRow < getRowsPerThread(); ++threadRow)
    for (auto [score, key, exists] :
         llvm::zip(scores[threadRow], threadKeys, keyExists))
      score = finishScore(score, rowIndices[threadRow], key, exists);
  return scores;
}

/// Computes products += exponentials * values.
void BlockBuilder::addValues(State &state,
                             ArrayRef<SmallVector<Value>> exponentials) {
  int64_t numAccumulators = instruction->getNumAccumulators();
  for (size_t first = 0; first < threadKeys.size();
       first += getKeysPerThread()) {
    SmallVector<Words> weights;
    for (ArrayRef<Value> row : exponentials)
      weights.push_back(round(row.slice(first, getKeysPerThread())));
    MutableArrayRef<Value> products = state.products;
    for (const ValueLoad &valueLoad : valueLoads) {
      SmallVector<Words> values;
      for (int64_t threadKey = 0; threadKey < getKeysPerThread(); ++threadKey)
        values.push_back(loadValues(threadKeys[first + threadKey],
                                    keyExists[first + threadKey], valueLoad));
      for (int64_t column = 0; column < valueLoad.columns; ++column) {
        Words words;
        for (int64_t pair = 0; pair < getKeysPerThread(); pair += 2) {
          Value a = values[pair][column / 2], b = values[pair + 1][column / 2];
          words.push_back(column % 2 ? joinHigh(a, b) : joinLow(a, b));
        }
        llvm::copy(
            multiply(weights, words, products.take_front(numAccumulators)),
            products.begin());
        products = products.drop_front(numAccumulators);
      }
    }
  }
}

void BlockBuilder::step(State &state, Value first) {
  findKeys(first);
  SmallVector<SmallVector<Value>> scores = getScores(first);
  SmallVector<Value> corrections =
      updateSoftmax(state.maxima, state.sums, scores);
  for (auto [i, product] : llvm::enumerate(state.products))
    product = arith::MulFOp::create(
        builder, product,
        corrections[i % instruction->getNumAccumulators() /
                    getColumnsPerThread()]);
  addValues(state, scores);
}

//===----------------------------------------------------------------------===//
// A block
//===----------------------------------------------------------------------===//

BlockBuilder::State BlockBuilder::stream() {
  State state;
  state.maxima.assign(getRowsPerThread(), getLeast());
  state.sums.assign(getRowsPerThread(), number(0));
  state.products.assign(attention.depth / shape.getTileColumns() *
                            instruction->getNumAccumulators(),
                        number(0));
  int64_t keys = shape.getStepKeys();
  auto loop =
      scf::ForOp::create(builder, mul(warpInBlock, keys), length,
                         index(getWarpsPerBlock() * keys), state.flatten());
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    state.assign(loop.getRegionIterArgs(), getRowsPerThread());
    step(state, loop.getInductionVar());
    scf::YieldOp::create(builder, state.flatten());
  }
  state.assign(loop.getResults(), getRowsPerThread());
  combineSums(state.sums);
  return state;
}

/// Returns the accumulators of the neighbouring columns of a load of values.
/// `next` and the thread's position in its quad give the first column.
SmallVector<Value> BlockBuilder::getColumns(ArrayRef<Value> products,
                                            int64_t loadIndex,
                                            int64_t threadRow, int64_t next) {
  int64_t first = valueLoads[loadIndex].begin / getNumQuads();
  SmallVector<Value> columns;
  for (int64_t column = 0; column < valueLoads[loadIndex].columns; ++column)
    columns.push_back(
        products[(first + column) * instruction->getNumAccumulators() +
                 threadRow * getColumnsPerThread() + next]);
  return columns;
}

/// Stores partial results for the loop that combines the results of the warps.
void BlockBuilder::store(const State &state) {
  for (int64_t threadRow = 0; threadRow < getRowsPerThread(); ++threadRow) {
    OpBuilder::InsertionGuard guard(builder);
    enterRow(threadRow);
    // All threads of a quad store the same scalars.
    memref::StoreOp::create(builder, state.maxima[threadRow], buffers.maxima,
                            ValueRange{warpInBlock, unclampedRows[threadRow]});
    memref::StoreOp::create(builder, state.sums[threadRow], buffers.sums,
                            ValueRange{warpInBlock, unclampedRows[threadRow]});
    for (auto [loadIndex, of] : llvm::enumerate(valueLoads))
      for (int64_t next = 0; next < getColumnsPerThread(); ++next) {
        Value column =
            add(mul(add(mul(inQuad, getColumnsPerThread()), next), of.columns),
                of.begin);
        SmallVector<Value> columns =
            getColumns(state.products, loadIndex, threadRow, next);
        int64_t count = std::min(of.columns, kStoreElements);
        for (int64_t begin = 0; begin < of.columns; begin += count) {
          Value vector = vector::FromElementsOp::create(
              builder, VectorType::get(count, builder.getF32Type()),
              ArrayRef(columns).slice(begin, count));
          vector::StoreOp::create(builder, vector, buffers.products,
                                  ValueRange{warpInBlock,
                                             unclampedRows[threadRow],
                                             add(column, begin)},
                                  /*nontemporal=*/false,
                                  llvm::MaybeAlign(count * kAccumulatorBytes));
        }
      }
  }
}

/// Finishes rows whose keys all belong to one warp.
void BlockBuilder::finish(const State &state) {
  finishRows(state.maxima, state.sums,
             [&](const RowValues &all, int64_t threadRow) {
               for (auto [loadIndex, of] : llvm::enumerate(valueLoads))
                 for (int64_t next = 0; next < getColumnsPerThread(); ++next)
                   finishColumns(
                       all, threadRow,
                       add(mul(add(mul(inQuad, getColumnsPerThread()), next),
                               of.columns),
                           of.begin),
                       getColumns(state.products, loadIndex, threadRow, next));
             });
}

void BlockBuilder::buildBlock(Value block) {
  findRows(block);
  State state = stream();
  if (shape.hasPartialResults())
    store(state);
  else
    finish(state);
}

void BlockBuilder::build(Value thread) {
  AttentionTiles::assignThreads(thread);
  warp = rem(warp, shape.warps);
  findLength();
  findValueLoads();
  warpInBlock = rem(warp, getWarpsPerBlock());
  Value first = div(warp, getWarpsPerBlock());
  int64_t blocks = shape.getBlocks(), stride = shape.warps / getWarpsPerBlock();
  OpBuilder::InsertionGuard guard(builder);
  if (blocks == stride)
    return buildBlock(first);
  auto loop = scf::ForOp::create(builder, first, index(blocks), index(stride));
  builder.setInsertionPointToStart(loop.getBody());
  buildBlock(loop.getInductionVar());
}

void ark::buildAttentionBlocks(ImplicitLocOpBuilder &builder,
                               const AttentionOps &attention,
                               const AttentionShape &shape,
                               const AttentionBuffers &buffers, Value thread) {
  BlockBuilder(builder, attention, shape, buffers).build(thread);
}
