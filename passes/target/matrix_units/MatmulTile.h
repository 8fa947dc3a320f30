//===- MatmulTile.h - Matrix products for tensor cores ----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MATRIX_UNITS_MATMULTILE_H
#define ARK_PASSES_TARGET_MATRIX_UNITS_MATMULTILE_H

#include "dialects/ark/ArkAttrs.h"
#include "lib/support/RowConvolution.h"
#include "passes/target/memory_access/WideLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// The dimension along which the rows of an operand lie in memory: K, or the
/// dimension that the operand shares with the result (M or N).
enum class Major { K, MN };

/// out[m, n] += left[m, k] * right[n, k] on buffers, a tile of one CTA.
/// Operands are bf16, f16, f32 or 8-bit floats, accumulators f32; or operands
/// are i8, accumulators i32. The rows of both operands are contiguous and
/// aligned for loads of `getElementsPerLoad()` elements. A buffer of the major
/// MN is left[k, m] or right[k, n]. 8-bit floats are widened in registers to
/// the 16 bits of the other operand, unless the instruction takes 8-bit floats.
/// Elements of f32 are split into bf16 terms (`SplitFloat.h`).
///
/// The right operand of a convolution is an image. Its element `right[k, n]`,
/// of the major MN, is the element that the window n has at k: k counts the
/// elements of a window, and n the windows of all rows. The left operand has a
/// dimension for each loop over k.
struct MatmulTile {
  linalg::LinalgOp op;
  Value left, right, out;
  Major leftMajor, rightMajor;
  /// Extents; `rows` and `columns` are upper bounds.
  int64_t rows, columns, depth;
  /// The instruction. Its operand A holds rows of weights, which are columns of
  /// the result, and its operand B rows of activations.
  MmaAttr mma;
  /// The convolution; nothing for a product of matrices.
  std::optional<RowConvolution> convolution = std::nullopt;

  /// Prefers an instruction that takes the operands as they are in memory to
  /// one that takes them after a conversion. Returns
  /// nothing if `op` is not a supported product, or if no instruction with
  /// supported fragments takes its operands.
  static std::optional<MatmulTile> match(linalg::LinalgOp op,
                                         ArrayRef<MmaAttr> instructions);

  /// Returns the columns and rows of the result per instruction.
  int64_t getUnitColumns() const { return mma.getM(); }
  int64_t getUnitRows() const { return mma.getN(); }
  int64_t getWarpSize() const { return mma.getAcc().getNumThreads(); }
  /// Returns the columns of a unit that the threads of a warp load at once.
  int64_t getColumnsPerLoad() const;
  /// Returns the number of threads that share a row of an operand.
  int64_t getThreadsPerRow() const { return mma.getLhs().getThreads()[1]; }
  /// Returns the elements of a load of an operand: 16 bytes of the type of the
  /// instruction.
  int64_t getElementsPerLoad() const { return kLoadBytes / getElementBytes(); }
  /// Returns the elements of a slice of K: the threads of a row load a slice
  /// with one load each.
  int64_t getSliceElements() const {
    return getThreadsPerRow() * getElementsPerLoad();
  }

  /// Returns the element type of the instruction. An instruction of 16-bit
  /// floats multiplies f16 if both operands have 8 bits, and bf16 if both are
  /// f32.
  Type getElementType() const;
  /// Returns the bytes of an element of the instruction.
  int64_t getElementBytes() const { return mma.getOperandBits() / 8; }
  /// Returns the type of the result: i32 for operands of integers, otherwise
  /// f32.
  Type getAccumulatorType() const;
  /// Returns true if both operands have the instruction's type in memory.
  bool isPlain() const;
  /// Returns true if both operands are f32.
  bool isSplit() const;
  /// Returns true if the rows of both operands lie along K.
  bool isKMajor() const {
    return leftMajor == Major::K && rightMajor == Major::K;
  }

  /// Returns true if one warp holds the accumulators of all rows.
  bool isSkinny() const { return rows <= 2 * getUnitRows(); }
  /// Returns true if the left operand is a temporary with few rows. Warps load
  /// such rows right before they multiply them.
  bool hasTemporaryRows() const;
  /// Returns the number of loads per thread for a slice of a unit: one load if
  /// it covers all columns of the product.
  int64_t getLoads() const {
    return columns > getColumnsPerLoad() || !isSkinny()
               ? getUnitColumns() / getColumnsPerLoad()
               : 1;
  }
};

/// Returns the sum of two accumulators, which are floats or integers.
Value createSum(OpBuilder &builder, Location loc, Value a, Value b,
                arith::FastMathFlags flags = arith::FastMathFlags::none);
inline Value createSum(ImplicitLocOpBuilder &builder, Value a, Value b) {
  return createSum(builder, builder.getLoc(), a, b);
}

/// Returns true for a constant 0, of a float or an integer.
bool isZero(Value number);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MATRIX_UNITS_MATMULTILE_H
