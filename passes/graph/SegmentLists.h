//===- SegmentLists.h - The slices of each segment --------------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_SEGMENTLISTS_H
#define ARK_PASSES_GRAPH_SEGMENTLISTS_H

#include "dialects/ark/ArkOps.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// `order` has the positions of the slices, sorted by their segments and then
/// by position. The slices of segment `s` are the elements from `starts[s]` to
/// `starts[s + 1] - 1` of `order`. Both are tensors of i32.
struct SegmentLists {
  Value order, starts;
};

/// Builds lists as custom ops, once for all sums with equal indices and plans.
class SegmentListBuilder {
public:
  SegmentListBuilder(OpBuilder &builder, int64_t sms)
      : builder(builder), sms(sms) {}

  /// Returns the lists of `segments` segments. `indices` has one dimension, and
  /// at most 2^31 - 1 elements. `plan` is the plan of the sum, or null: lists
  /// of a microbatch belong to this microbatch.
  SegmentLists build(Location loc, Value indices, int64_t segments,
                     Attribute plan);

private:
  Value countSmaller(Location loc, Value indices);
  Value invert(Location loc, Value ranks);
  Value findStarts(Location loc, Value indices, Value order, int64_t segments);

  OpBuilder &builder;
  int64_t sms;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> orders;
  /// The starts by order and number of segments.
  llvm::DenseMap<std::pair<Value, int64_t>, Value> starts;
};

/// Builds the body of one vCTA: the sums of the segments from `first` on.
/// `operand` is `batches x slices x columns`, and `out` is `batches x segments
/// x columns`. A thread adds the slices of an element one after the other.
Value buildListedSums(OpBuilder &builder, Location loc, Value operand,
                      const SegmentLists &lists, Value first, Value out);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_SEGMENTLISTS_H
