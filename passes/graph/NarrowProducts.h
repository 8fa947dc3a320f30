//===- NarrowProducts.h - Casts of the operands of matmuls ------*- C++ -*-===//

#ifndef ARK_PASSES_GRAPH_NARROWPRODUCTS_H
#define ARK_PASSES_GRAPH_NARROWPRODUCTS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::ark {

/// Adds patterns that fold casts of fp8 weights into matmuls with few rows,
/// that cast such operands of matmuls with more rows, and that fold casts of
/// 16-bit floats to f32, and of i8 to i32, into matmuls for matrix units.
/// Matmuls of i8 add their products in i32 for these units.
void populateNarrowProductPatterns(RewritePatternSet &patterns);

} // namespace mlir::ark

#endif // ARK_PASSES_GRAPH_NARROWPRODUCTS_H
