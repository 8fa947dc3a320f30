//===- QuantizedProducts.h - Structured products of few bits ----*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_QUANTIZEDPRODUCTS_H
#define ARK_LIB_SUPPORT_QUANTIZEDPRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace mlir::ark {

/// The decomposition of an `ark.quantized_matmul`: `out[m, n] += x[m, k] *
/// (w[n, k] - z[n, g]) * s[n, g]`, in this order of loops and inputs, with or
/// without zeros. The group g of k has `group` elements; 0 means all of a row.
struct QuantizedProduct {
  int64_t group = 0;
  /// True if a byte of the weights has two numbers.
  bool hasFourBits = false;
  bool hasZeros = false;
};

/// Matches the decomposition of an `ark.quantized_matmul`, on tensors and on
/// buffers.
std::optional<QuantizedProduct> matchQuantizedProduct(Operation *op);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_QUANTIZEDPRODUCTS_H
