//===- AttentionColumns.h - Attention with queries as columns ---*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONCOLUMNS_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONCOLUMNS_H

#include "passes/target/attention/AttentionThreadRows.h"
#include "passes/target/attention/PositionMask.h"

namespace mlir::ark {

/// Online softmax of a warp for a block of queries. The first product
/// multiplies keys by queries, and the second product multiplies values by
/// exponentials, so that queries are the columns of both results. A thread
/// holds the scores of one query for each instruction, and the exponentials in
/// the registers in which the second product reads them.
///
/// Keys and queries use the same permuted order of the depth, the order in
/// which threads load it, and values and exponentials the same order of keys.
/// The columns of values are permuted as well: a thread loads neighbouring
/// columns, each of which belongs to another instruction.
///
/// Steps whose keys all exist and are admitted for all queries come first. If
/// every warp reads all keys, all threads load the keys and values of such a
/// step to registers, and store them to one of two stages in shared memory,
/// while loads of the next step are in flight. A row of a stage ends with the
/// bytes of one load, so that eight threads that read eight rows reach all
/// banks.
///
/// If the GPU has loads to LDS, copies of warps fill three stages, two steps
/// ahead. A copy writes whole rows without bytes between them, so it has rows
/// at a distance, and unused bytes follow it: neighbouring rows lie in other
/// copies, and in other banks.
class AttentionColumns : public AttentionThreadRows {
public:
  using AttentionThreadRows::AttentionThreadRows;
  void build(Value thread);

private:
  /// The values that the loop carries: the maximum scores of the thread's
  /// queries, its partial sums of exponentials, and the accumulators of the
  /// weighted sums of values: a vector for each query and instruction.
  struct State {
    SmallVector<Value> maxima, sums, products;

    SmallVector<Value> flatten() const;
    void assign(ValueRange all, int64_t queries);
  };
  /// A load of a row of values, in which each thread loads neighbouring
  /// columns: the first column of the first thread, and the number of columns
  /// of a thread.
  struct ValueLoad {
    int64_t begin, columns;
  };
  /// The memory from which a step reads keys and values, and the rows of the
  /// first key and of its value. Copies write rows to a stage, of which the
  /// source then has pointers instead.
  struct Stage {
    Value keys, values;
  };
  struct Source {
    Value keys, values, firstKey, firstValue;
    std::optional<Stage> stage = std::nullopt;
  };
  /// The thread's keys of a step: the rows of the source that it multiplies by
  /// queries, the rows of the values of its scores, and the keys of its scores.
  /// Keys beyond the last key are clamped. `exists` has an i1 for each key of
  /// the scores, which is null if all keys of the step exist.
  struct Keys {
    SmallVector<Value> rows, ofValues, ofScores, exists;
  };
  /// A load of a thread for a stage: the row among the keys of the step, the
  /// column, and the row of the stage.
  struct Chunk {
    Value buffer, row, column, target;
  };
  /// A copy of the warp for a stage: this thread's row among the keys of the
  /// step, its first column, and the place in the first stage, a pointer that
  /// all threads of the warp have in common.
  struct Copy {
    Value buffer, row, column, target;
  };

  int64_t countRows() const override { return shape.queryColumns; }
  int64_t getRowDistance() const override { return shape.mma.getN(); }
  SmallVector<int64_t> getRowSharing() const override {
    return getAcc().getSharingDistances(1);
  }
  /// Returns the instructions of a step along the keys.
  int64_t getStepTiles() const {
    return shape.getStepKeys() / shape.mma.getM();
  }
  /// Returns the instructions along the columns of the values.
  int64_t getDepthTiles() const { return shape.depth / shape.mma.getM(); }
  /// Returns the number of a thread's elements of an operand.
  int64_t getElements() const { return getLhs().getExtentPerThread(1); }
  VectorType getAccumulatorType() {
    return VectorType::get({instruction->getNumAccumulators()},
                           builder.getF32Type());
  }

  void assignThread(Value thread);
  void findValueLoads();
  void findQueries(Value block);
  void findWholeSteps();
  Keys findKeys(const Source &source, Value first);
  Value multiply(ArrayRef<Value> lhs, ArrayRef<Value> rhs, Value accumulators);
  SmallVector<SmallVector<Value>> getScores(const Source &source,
                                            const Keys &keys);
  Words loadKeys(const Source &source, Value row, Value column);
  Value loadColumns(const Source &source, Value row, Value column,
                    int64_t columns);
  Words loadValues(const Source &source, Value row, Value exists,
                   const ValueLoad &valueLoad);
  Words roundWeights(ArrayRef<Value> exponentials);
  void addValues(State &state, const Source &source, const Keys &keys,
                 ArrayRef<SmallVector<Value>> exponentials);
  void step(State &state, const Source &source, Value first);
  SmallVector<Chunk> findChunks(Value thread);
  SmallVector<Value> loadStage(Value first);
  void storeStage(ValueRange loaded, Value stage);
  void createSteps(State &state, Value begin, Value end);
  void createStagedSteps(State &state, Value end);

  SmallVector<Copy> findCopies(Value thread);
  Value getPlace(Value row, Value chunk);
  void copyStage(Value first, Value bytes);
  Value readStage(Value stage, Value row, Value column, int64_t columns);
  void createCopiedSteps(State &state, Value end);
  State stream();
  void buildBlock(Value block);
  SmallVector<Value> getColumns(const State &state, int64_t query,
                                int64_t loadIndex, int64_t element,
                                int64_t count);
  void forEachResult(
      const State &state, int64_t query,
      function_ref<void(Value first, ArrayRef<Value> products)> visit);
  void storeScalars(const State &state, int64_t query);
  void store(const State &state);
  void finish(const State &state);

  SmallVector<ValueLoad> valueLoads;
  SmallVector<Chunk> chunks;
  SmallVector<Copy> copies;
  Value warpInBlock;
  /// The end of the steps whose keys all exist and are admitted by `mask` for
  /// all queries, or null if these are all steps.
  Value wholeEnd;
  std::optional<PositionMask> mask;
  /// True in these steps.
  bool isWhole = false;
  /// The thread's position among the rows and columns of operands, and among
  /// the threads that share a row.
  Value position, part;
  /// The words of each query, by load.
  SmallVector<SmallVector<Words>> queries;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONCOLUMNS_H
