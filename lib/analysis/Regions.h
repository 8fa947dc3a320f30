//===- Regions.h - The boxes and bytes that vCTAs touch ---------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_REGIONS_H
#define ARK_LIB_ANALYSIS_REGIONS_H

#include "dialects/ark/ArkOps.h"
#include "lib/support/BufferView.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Allocator.h"

namespace mlir::ark {

/// A half-open interval `[first, second)` of elements, bytes or vCTAs.
using Interval = std::pair<int64_t, int64_t>;

/// Assigns indices to distinct tuples of integers, counting from 0.
class TupleIndices {
public:
  /// Returns the tuple's index, and true if the tuple is new.
  std::pair<unsigned, bool> insert(ArrayRef<int64_t> tuple);
  unsigned size() const { return indices.size(); }

private:
  llvm::BumpPtrAllocator allocator;
  llvm::DenseMap<ArrayRef<int64_t>, unsigned> indices;
};

/// Returns true if every grid index moves the region by whole tiles along a
/// separate dimension. No two vCTAs then share an element of `region`.
bool isDisjoint(RegionAttr region, ArrayRef<int64_t> grid);

/// Evaluates an expression without symbols.
int64_t evaluateAffine(AffineExpr expr, ArrayRef<int64_t> dims);

/// The boxes of elements of one operand that the vCTAs of a task access. Equal
/// boxes are stored once, since all vCTAs in a row of a matmul's grid read the
/// same rows.
class RegionBoxes {
public:
  RegionBoxes(RegionAttr region, ArrayRef<int64_t> grid,
              ArrayRef<int64_t> shape);

  unsigned getRank() const { return rank; }
  unsigned getNumBoxes() const { return rank ? bounds.size() / rank : 1; }
  int64_t getNumVCTAs() const { return boxOf.size(); }
  unsigned getBoxOf(int64_t vcta) const { return boxOf[vcta]; }
  /// Returns a range per dimension, clipped to the shape.
  ArrayRef<Interval> getBox(unsigned box) const {
    return ArrayRef<Interval>(bounds).slice(box * rank, rank);
  }
  /// Computes the union of all boxes. Returns false unless the boxes are the
  /// tiles of a grid without gaps.
  bool getUnion(SmallVectorImpl<Interval> &box) const;
  /// Returns the vCTAs that touch a box, in ascending order.
  ArrayRef<int64_t> getVCTAsOf(unsigned box) const {
    return ArrayRef<int64_t>(vctas).slice(firstVCTA[box],
                                          firstVCTA[box + 1] - firstVCTA[box]);
  }

private:
  unsigned rank;
  std::vector<Interval> bounds;
  std::vector<uint32_t> boxOf;
  std::vector<int64_t> vctas;
  std::vector<uint32_t> firstVCTA;
};

/// Returns an upper bound of the byte intervals of a box in a view.
int64_t countByteIntervals(ArrayRef<Interval> box, const BufferView &view);

/// Returns the range from the first to the last byte of a box. The range of an
/// empty box is empty.
Interval getByteHull(ArrayRef<Interval> box, const BufferView &view);

/// Appends the bytes of a box, as intervals from `view.byteOffset` on. The
/// intervals are ascending and disjoint unless elements of the view overlap.
void appendByteIntervals(ArrayRef<Interval> box, const BufferView &view,
                         SmallVectorImpl<Interval> &intervals);

/// Sorts ranges and joins adjacent or overlapping ranges.
void mergeRanges(SmallVectorImpl<Interval> &ranges);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_REGIONS_H
