//===- AttentionThreadRows.h - The rows of a thread -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONTHREADROWS_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONTHREADROWS_H

#include "passes/target/attention/AttentionTiles.h"

namespace mlir::ark {

/// Returns true if a number is known to be a multiple of `unit`.
bool isKnownMultiple(OpFoldResult number, int64_t unit);

/// Base class of the loops in which a thread keeps the accumulators of several
/// rows: builds the online softmax of these rows, and the ops on their results.
class AttentionThreadRows : public AttentionTiles {
public:
  using AttentionTiles::AttentionTiles;
  virtual ~AttentionThreadRows() = default;

protected:
  /// Returns the number of a thread's rows.
  virtual int64_t countRows() const { return getRowsPerThread(); }
  /// Returns the distance of a thread's rows.
  virtual int64_t getRowDistance() const { return getAcc().getBlockExtent(0); }
  /// Returns the XOR distances between the threads that share a row.
  virtual SmallVector<int64_t> getRowSharing() const {
    return getAcc().getSharingDistances(0);
  }
  /// Returns true if no step of a loop over the keys goes beyond the last key.
  /// A tile of a causal attention has all keys, or the keys up to its last row.
  bool isWholeStep() const;

  /// Sets the thread's rows. `first` is the index of the first row; further
  /// rows follow at the same distance.
  void assignRows(Value first);
  /// Replaces the scores of a step, by row, by exponentials, and updates the
  /// maximum and the thread's sum of exponentials of each row. Returns, for
  /// each row, the factor by which its accumulators must be scaled.
  /// Exponentials have some 20 correct bits, more than the type of the values,
  /// to which they are rounded.
  SmallVector<Value> updateSoftmax(MutableArrayRef<Value> maxima,
                                   MutableArrayRef<Value> sums,
                                   MutableArrayRef<SmallVector<Value>> scores);
  /// Merges the maximum and the sum of a row with those over other keys.
  /// Returns the factors of the accumulators of this result and of the other
  /// one.
  std::pair<Value, Value> mergeSoftmax(Value &maximum, Value &sum,
                                       Value otherMaximum, Value otherSum);
  /// Adds up the sums of the threads that share a row.
  void combineSums(MutableArrayRef<Value> sums);
  void enterRow(int64_t threadRow);
  /// Lets the row ops compute the addresses of their results after this point,
  /// so that these addresses occupy no registers in the loop over the keys.
  /// Does nothing unless row ops are deferred: the address of a second result
  /// would have no register there.
  void recomputeAddresses();
  /// For each row of the thread, calls `finish` in a branch that is taken if
  /// the row exists. The arguments are the maximum and the sum of the row, and
  /// the index of the row among the rows of the thread. Calls `finish` again
  /// for each row if row ops are deferred.
  void finishRows(ArrayRef<Value> maxima, ArrayRef<Value> sums,
                  function_ref<void(const RowValues &, int64_t)> finish);
  void finishColumns(RowValues values, int64_t threadRow, Value first,
                     ArrayRef<Value> products);

  /// The row indices of the thread, and the same indices clamped to the last
  /// row.
  SmallVector<Value> unclampedRows, rows;
  SmallVector<SmallVector<Value>> rowIndices;

private:
  Value raiseTwo(Value exponent);
  bool isDeferred(const RowOp &rowOp);
  bool hasDeferred();

  /// True while `finishColumns` stores the results of deferred row ops only.
  bool storesDeferred = false;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONTHREADROWS_H
