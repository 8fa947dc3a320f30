//===- AttentionTiles.h - Attention with tensor cores -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H

#include "passes/target/attention/AttentionBuilder.h"
#include "passes/target/matrix_units/MatrixInstruction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::ark {

/// 32-bit words per load, with two elements each.
inline constexpr int64_t kWords = 4;
inline constexpr int64_t kWordBits = 32, kElementBits = 16;
/// Elements of the widest store of accumulators, and bytes of one element.
inline constexpr int64_t kStoreElements = 4;
inline constexpr int64_t kAccumulatorBytes = 4;

/// Base class of both loops over the keys: packs elements into words and issues
/// the matrix instruction.
class AttentionTiles : public AttentionBuilder {
public:
  using AttentionBuilder::AttentionBuilder;

protected:
  using Words = SmallVector<Value, kWords>;

  void assignThreads(Value thread);
  void findLength();
  /// Loads the elements from `column` on, with zeros beyond the end of a row.
  /// Each of `threads` threads loads a share of the row.
  Words load(Value buffer, ArrayRef<Value> rowIndices, Value column,
             int64_t threads);
  /// Scales and masks the sum of products of a row and a key. Returns minus
  /// infinity if `exists` is false. A null `exists` means true. Applies all
  /// masks except `omitted`, which is the last mask or null.
  Value finishScore(Value score, ValueRange rowIndices, Value key, Value exists,
                    arith::SelectOp omitted = {});
  /// Rounds exponentials to the values' type: one word with two exponentials
  /// and one with the next two.
  Words round(ArrayRef<Value> exponentials);
  /// Splits exponentials into sums of numbers of the values' type, whose
  /// products are exact. Every term has one word with two exponentials and one
  /// with the next two.
  SmallVector<Words> split(ArrayRef<Value> exponentials);
  /// Multiplies the words of the thread's rows, row by row, by the words of the
  /// thread's column.
  SmallVector<Value> multiply(ArrayRef<Words> rows, ArrayRef<Value> column,
                              ArrayRef<Value> accumulators);
  Value word(uint32_t value);
  Value number(float value);
  Value getLeast();
  /// Joins the lower or the upper 16 bits of two words.
  Value joinLow(Value a, Value b);
  Value joinHigh(Value a, Value b);
  /// Returns the number of 16-byte loads per thread for a row of the depth.
  int64_t getKeyLoads();
  /// Returns an i1 that is true if `column` lies inside of the row.
  Value isInside(Value column);

  MatrixFragment getLhs() const { return instruction->getLhs(); }
  MatrixFragment getAcc() const { return instruction->getAcc(); }
  /// Returns the number of threads that share a row.
  int64_t getQuadThreads() const { return getLhs().getThreadsSharing(0); }
  int64_t getNumQuads() const { return getLhs().getThreadsSharing(1); }
  /// Returns the number of rows of a thread.
  int64_t getRowsPerThread() const { return getAcc().getExtentPerThread(0); }
  /// Returns the number of columns of a thread, which are neighbours.
  int64_t getColumnsPerThread() const { return getAcc().getExtentPerThread(1); }
  /// Returns the number of keys of a thread in the product by the values.
  int64_t getKeysPerThread() const { return getLhs().getExtentPerThread(1); }
  /// Returns the words of a row or column of a thread.
  int64_t getWordsPerThread() const { return getKeysPerThread() / 2; }
  /// Returns the accumulators of one of the thread's rows.
  ArrayRef<Value> getRow(ArrayRef<Value> accumulators,
                         int64_t threadRow) const {
    return accumulators.slice(threadRow * getColumnsPerThread(),
                              getColumnsPerThread());
  }

  std::unique_ptr<MatrixInstruction> instruction =
      MatrixInstruction::create(shape.mma);
  Type element;
  /// The number of keys.
  Value length;
  /// The index of the thread's quad, which is also the thread's row in a block
  /// of the fragment, and the position of the thread in the quad. A quad is the
  /// threads that share a row.
  Value quad, inQuad;

private:
  Value roundTerm(MutableArrayRef<Value> exponentials, bool isLast);
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H
