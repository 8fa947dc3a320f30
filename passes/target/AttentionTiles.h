//===- AttentionTiles.h - Attention by tensor cores -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTIONTILES_H
#define ARK_PASSES_TARGET_ATTENTIONTILES_H

#include "passes/target/AttentionBuilder.h"

namespace mlir::ark {

/// Rows or columns of one operand of an instruction, two of which a lane of a
/// quad has.
inline constexpr int64_t kTileKeys = 8;
/// Lanes of a quad.
inline constexpr int64_t kQuad = 4;
/// Words that a load brings, of two elements each.
inline constexpr int64_t kWords = 4;
inline constexpr int64_t kWordBits = 32, kHalfBits = 16;
/// Sums of an instruction that a lane has.
inline constexpr int64_t kSums = 4;
/// Keys of a lane of 16, two of each tile.
inline constexpr int64_t kOwnKeys = 4;
/// The widest store of sums, and the bytes of one.
inline constexpr int64_t kStoreElements = 4;
inline constexpr int64_t kSumBytes = 4;

/// What both ways to stream keys and values have in common: words of two
/// elements, and the instruction that multiplies 16 rows by 8 columns.
class AttentionTiles : public AttentionBuilder {
public:
  using AttentionBuilder::AttentionBuilder;

protected:
  using Words = SmallVector<Value, kWords>;

  void dealLanes(Value thread);
  void findLength();
  /// The elements from `column` on, zeros beyond the end of a row, of which
  /// `lanes` lanes have a load each at once.
  Words load(Value buffer, ArrayRef<Value> place, Value column, int64_t lanes);
  /// What the ops in between make of a score of a row; minus infinity where
  /// there is no such key. All are there without `isThere`.
  Value finishScore(Value score, ValueRange place, Value key, Value isThere);
  /// Powers as sums of numbers of the values' type, whose products are exact:
  /// of each term the words of two powers and of the two next ones.
  SmallVector<Words> split(ArrayRef<Value> powers);
  SmallVector<Value, kSums> multiply(ArrayRef<Value> a, ArrayRef<Value> b,
                                     ArrayRef<Value> sums);
  Value word(uint32_t value);
  Value number(float value);
  Value getLeast();
  /// The lower, and the upper, halves of two words.
  Value joinLow(Value a, Value b);
  Value joinHigh(Value a, Value b);
  /// Loads of 16 bytes that a quad needs for a row of the depth.
  int64_t getKeyLoads();
  /// Whether the elements from `column` on are those of a row.
  Value isInside(Value column);

  Type element;
  /// The number of keys.
  Value length;
  /// Of the lane: its quad, and its place in that.
  Value quad, inQuad;

private:
  Value round(MutableArrayRef<Value> powers, bool isLast);
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTIONTILES_H
