//===- RowConvolution.h - Structured convolutions of rows -------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_ROWCONVOLUTION_H
#define ARK_LIB_SUPPORT_ROWCONVOLUTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/Support/MathExtras.h"

#include <optional>

namespace mlir::ark {

/// The decomposition of an `ark.convolution`:
/// `out[m, y, x] += filters[m, c, i, j] * image[c, y * stride + i * dilation +
/// j, x]`. A loop of extent one may be absent.
struct RowConvolution {
  /// Extents of the loops over y and x, and over c, i and j.
  int64_t rows, columns, channels, height, width;
  int64_t stride, dilation;

  /// Elements of a copy of 16 bytes, none of which crosses the end of a row.
  static constexpr int64_t kUnit = 8;

  /// Matches the decomposition on tensors and on buffers, whose loops have
  /// static extents, except for m.
  static std::optional<RowConvolution> match(linalg::LinalgOp op);

  /// Returns the columns of one row y in a product, in which columns of whole
  /// copies follow one another.
  int64_t getPitch() const { return llvm::alignTo(columns, kUnit); }
  /// Returns the columns of the product: those of all rows.
  int64_t getProductColumns() const { return rows * getPitch(); }
  int64_t getDepth() const { return channels * height * width; }
};

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_ROWCONVOLUTION_H
