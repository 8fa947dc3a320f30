//===- SinkReshapes.h - Reshapes between elementwise ops --------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_SINKRESHAPES_H
#define ARK_PASSES_GRAPH_SINKRESHAPES_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::ark {

/// Adds a pattern that moves a reshape behind the unary op that reads it, so
/// that the op can join the group of the op before the reshape.
void populateSinkReshapePatterns(RewritePatternSet &patterns);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_SINKRESHAPES_H
