//===- BufferView.h - Bytes of a buffer that a memref names -----*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_BUFFERVIEW_H
#define ARK_LIB_SUPPORT_BUFFERVIEW_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace mlir::ark {

/// Returns true if elements follow one another in row-major order, without
/// gaps.
bool isDense(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides);

/// Describes a memref of a bufferised program by the buffer that holds its
/// elements. Element `(i, j, ...)` is at byte
/// `byteOffset + (i * strides[0] + j * strides[1] + ...) * elementBytes`
/// of `root`.
struct BufferView {
  /// A block argument of the program, or the result of `ark.arena` or
  /// `ark.packets`. Before the arena is planned, the root may also be the
  /// result of a `memref.alloc`.
  Value root;
  /// The allocation: `root`, or the `memref.view` that is an intermediate of
  /// the arena. Two such views may share bytes of the root.
  Value buffer;
  /// Bytes from the first byte of `root` to element 0.
  int64_t byteOffset = 0;
  SmallVector<int64_t> shape;
  /// In elements; zero along a broadcast dimension, never negative.
  SmallVector<int64_t> strides;
  Type elementType;
  int64_t elementBytes = 0;

  int64_t getNumElements() const;
  /// Returns the end of the last element in bytes of `root`; `byteOffset` for
  /// an empty view.
  int64_t getByteEnd() const;
  bool isDense() const { return ark::isDense(shape, strides); }
  /// Returns true if the view has all elements of `root` in row-major order,
  /// with its element type. The shapes may differ.
  bool coversRoot() const;

  bool operator==(const BufferView &other) const;
};

/// Returns the bytes of one element in a buffer. A bool takes one byte.
int64_t getElementBytes(Type elementType);

/// Returns the bytes of a dense buffer of static shape.
int64_t getBufferBytes(ShapedType type);

/// Returns the row-major strides of a dense buffer, in elements.
SmallVector<int64_t> getDenseStrides(ArrayRef<int64_t> shape);

/// Computes strides and offset of a memref, in elements, dynamic ones included.
/// Unlike MemRefType's method, this function knows the strides of a dense
/// buffer without elements.
LogicalResult getStridesAndOffset(MemRefType type,
                                  SmallVectorImpl<int64_t> &strides,
                                  int64_t &offset);

/// Returns true if a root is the buffer of packets. A packet orders nothing but
/// itself.
bool isPackets(Value root);

/// Follows a memref to its root, through `memref.view` at constant offset and
/// `ark.buffer_cast`, `memref.reinterpret_cast`, `subview`, `expand_shape`,
/// `collapse_shape`, `transpose` and `cast` of static layout. Fails with an
/// error at the first op that prevents this.
FailureOr<BufferView> resolveBufferView(Value memref);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_BUFFERVIEW_H
