//===- QuantizedProducts.h - Structured products of few bits ----*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_QUANTIZEDPRODUCTS_H
#define ARK_LIB_SUPPORT_QUANTIZEDPRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace mlir::ark {

/// The zero of numbers of 4 bits without a tensor of zeros.
inline constexpr int64_t kDefaultZero = 8;

/// The decomposition of an `ark.quantized_matmul`: `out[m, n] += x[m, k] *
/// (w[n, k] - z[n, g]) * s[n, g]`, in this order of loops and inputs, with or
/// without zeros. The group g of k has `group` elements; 0 means all of a row.
struct QuantizedProduct {
  int64_t group = 0;
  /// True if a byte of the weights has two numbers.
  bool hasFourBits = false;
  bool hasZeros = false;

  /// Returns the maps of the input, the weights, the scales, the zeros if there
  /// are any, and the result.
  SmallVector<AffineMap> getMaps(MLIRContext *context) const;
};

/// Matches the decomposition of an `ark.quantized_matmul`, on tensors and on
/// buffers. No other product matches, also if the maps are the same: a reader
/// of the weights decodes their bits itself.
std::optional<QuantizedProduct> matchQuantizedProduct(Operation *op);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_QUANTIZEDPRODUCTS_H
