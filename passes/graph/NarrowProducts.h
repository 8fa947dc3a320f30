//===- NarrowProducts.h - Casts of fp8 operands of matmuls ------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_NARROWPRODUCTS_H
#define ARK_PASSES_GRAPH_NARROWPRODUCTS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::ark {

/// Adds patterns that fold casts of fp8 weights into matmuls with few rows, and
/// that cast the operands of matmuls with more rows.
void populateNarrowProductPatterns(RewritePatternSet &patterns);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_NARROWPRODUCTS_H
