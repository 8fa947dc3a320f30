//===- Relations.h - Overlap of the regions of two operands -----*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_RELATIONS_H
#define ARK_LIB_ANALYSIS_RELATIONS_H

#include "lib/analysis/Dependences.h"

#include <map>

namespace mlir::ark {

/// The accesses of all vCTAs of a task through one operand.
struct Access {
  unsigned task, operand;
  bool isWrite;
  RegionAttr region;
  ArrayRef<int64_t> grid;
  BufferView view;
};

/// All bytes that the vCTAs of a task touch through one operand.
struct Footprint {
  /// Sorted and disjoint ranges, counted from the view's byte offset.
  SmallVector<Interval> bytes;
  /// False if `bytes` holds more than the vCTAs touch.
  bool exact = true;
};

/// Computes relations and footprints once for every structure: two layers of a
/// model have the same shapes and differ only in their buffers.
class RelationCache {
public:
  /// Returns the pairs (producer vCTA, consumer vCTA) whose regions share a
  /// byte.
  std::shared_ptr<const Relation> getOverlap(const Access &producer,
                                             const Access &consumer);
  /// Returns the pairs of vCTAs of one task whose regions share a byte. The
  /// vCTA with the lower index is the producer.
  std::shared_ptr<const Relation> getOverlapWithin(const Access &producer,
                                                   const Access &consumer);
  const Footprint &getFootprint(const Access &access);

private:
  const RegionBoxes &getBoxes(const Access &access);

  using Key = std::vector<int64_t>;
  std::map<Key, std::unique_ptr<RegionBoxes>> boxes;
  std::map<Key, Footprint> footprints;
  std::map<Key, std::shared_ptr<const Relation>> overlaps, overlapsWithin;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_RELATIONS_H
