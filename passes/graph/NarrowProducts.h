//===- NarrowProducts.h - Where 8-bit floats are widened --------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_NARROWPRODUCTS_H
#define ARK_PASSES_GRAPH_NARROWPRODUCTS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::ark {

/// A product of a few rows widens 8-bit weights as it reads them; before one of
/// more rows they are cast.
void populateNarrowProductPatterns(RewritePatternSet &patterns);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_NARROWPRODUCTS_H
