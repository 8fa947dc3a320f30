//===- AttentionTiles.h - Attention with tensor cores -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H

#include "passes/target/attention/AttentionBuilder.h"

namespace mlir::ark {

/// Keys of an instruction, as rows or columns of one operand. A lane of a quad
/// has two of them.
inline constexpr int64_t kTileKeys = 8;
/// Lanes of a quad.
inline constexpr int64_t kQuad = 4;
/// 32-bit words that a load fetches, of two elements each.
inline constexpr int64_t kWords = 4;
inline constexpr int64_t kWordBits = 32, kHalfBits = 16;
/// Accumulators of an instruction in a lane.
inline constexpr int64_t kSums = 4;
/// Keys that a lane has of 16: two of each tile of 8.
inline constexpr int64_t kOwnKeys = 4;
/// Accumulators of the widest store, and the bytes of one.
inline constexpr int64_t kStoreElements = 4;
inline constexpr int64_t kSumBytes = 4;

/// Base class of both loops over the keys: words of two elements, and the
/// instruction that multiplies 16 rows by 8 columns.
class AttentionTiles : public AttentionBuilder {
public:
  using AttentionBuilder::AttentionBuilder;

protected:
  using Words = SmallVector<Value, kWords>;

  void dealLanes(Value thread);
  void findLength();
  /// Loads the elements from `column` on, with zeros beyond the end of a row.
  /// `lanes` lanes each load a part of the row at once.
  Words load(Value buffer, ArrayRef<Value> place, Value column, int64_t lanes);
  /// Applies the score ops to a score of a row. Returns minus infinity if
  /// `isThere` is false. A null `isThere` stands for true.
  Value finishScore(Value score, ValueRange place, Value key, Value isThere);
  /// Splits exponentials into sums of numbers of the values' type, whose
  /// products are exact. Every term has a word of two exponentials and a word
  /// of the next two.
  SmallVector<Words> split(ArrayRef<Value> powers);
  SmallVector<Value, kSums> multiply(ArrayRef<Value> a, ArrayRef<Value> b,
                                     ArrayRef<Value> sums);
  Value word(uint32_t value);
  Value number(float value);
  Value getLeast();
  /// Joins the lower, or the upper, 16 bits of two words.
  Value joinLow(Value a, Value b);
  Value joinHigh(Value a, Value b);
  /// Returns the number of 16-byte loads of a lane for a row of the depth.
  int64_t getKeyLoads();
  /// Compares `column` with the end of a row; true if it lies inside.
  Value isInside(Value column);

  Type element;
  /// The number of keys.
  Value length;
  /// The lane's quad, and its position in the quad.
  Value quad, inQuad;

private:
  Value round(MutableArrayRef<Value> powers, bool isLast);
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H
