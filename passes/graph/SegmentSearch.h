//===- SegmentSearch.h - Joins slices that a vCTA looks for -----*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_SEGMENTSEARCH_H
#define ARK_PASSES_GRAPH_SEGMENTSEARCH_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"

namespace mlir::ark {

/// Indices that a vCTA reads at once.
constexpr int64_t kIndicesAtOnce = 32;

/// Joins an element of a slice with the element of its segment.
using SegmentJoin = Value (*)(OpBuilder &builder, Location loc, Value segment,
                              Value slice);

/// Builds the body of a vCTA that looks for the slices of its segments among
/// all indices: all segments of the tile `out`, from `first` on. A segment
/// without a slice is `value`.
Value buildSearchedSegments(OpBuilder &builder, Location loc, Value first,
                            int64_t slices, Value operand, Value indices,
                            Value out, TypedAttr value, SegmentJoin join);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_SEGMENTSEARCH_H
