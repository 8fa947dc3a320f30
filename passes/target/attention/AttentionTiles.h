//===- AttentionTiles.h - Attention with tensor cores -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H

#include "passes/target/attention/AttentionBuilder.h"

namespace mlir::ark {

/// Keys of an instruction, as rows or columns of one operand. Each lane of a
/// quad holds two of these keys.
inline constexpr int64_t kTileKeys = 8;
/// Lanes of a quad.
inline constexpr int64_t kQuad = 4;
/// 32-bit words per load, with two elements each.
inline constexpr int64_t kWords = 4;
inline constexpr int64_t kWordBits = 32, kHalfBits = 16;
/// Accumulators of an instruction per lane.
inline constexpr int64_t kSums = 4;
/// Keys per lane of every 16 keys: two of each tile of 8.
inline constexpr int64_t kOwnKeys = 4;
/// Elements of the widest store of accumulators, and bytes of one element.
inline constexpr int64_t kStoreElements = 4;
inline constexpr int64_t kSumBytes = 4;

/// Base class of both loops over the keys: packs elements into words and issues
/// the instruction that multiplies 16 rows by 8 columns.
class AttentionTiles : public AttentionBuilder {
public:
  using AttentionBuilder::AttentionBuilder;

protected:
  using Words = SmallVector<Value, kWords>;

  void dealLanes(Value thread);
  void findLength();
  /// Loads the elements from `column` on, with zeros beyond the end of a row.
  /// Each of `lanes` lanes loads a part of the row.
  Words load(Value buffer, ArrayRef<Value> place, Value column, int64_t lanes);
  /// Applies the score ops to a score of a row. Returns minus infinity if
  /// `exists` is false. A null `exists` means true.
  Value finishScore(Value score, ValueRange place, Value key, Value exists);
  /// Splits exponentials into sums of numbers of the values' type, whose
  /// products are exact. Every term has one word with two exponentials and one
  /// with the next two.
  SmallVector<Words> split(ArrayRef<Value> exponentials);
  SmallVector<Value, kSums> multiply(ArrayRef<Value> a, ArrayRef<Value> b,
                                     ArrayRef<Value> sums);
  Value word(uint32_t value);
  Value number(float value);
  Value getLeast();
  /// Joins the lower or the upper 16 bits of two words.
  Value joinLow(Value a, Value b);
  Value joinHigh(Value a, Value b);
  /// Returns the number of 16-byte loads per lane for a row of the depth.
  int64_t getKeyLoads();
  /// Returns an i1 that is true if `column` lies inside of the row.
  Value isInside(Value column);

  Type element;
  /// The number of keys.
  Value length;
  /// The quad of the lane, and the position of the lane in it.
  Value quad, inQuad;

private:
  Value round(MutableArrayRef<Value> exponentials, bool isLast);
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONTILES_H
