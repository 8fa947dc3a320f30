//===- Softmax.h - Scalars of a softmax -------------------------*- C++ -*-===//

#ifndef ARK_LIB_SUPPORT_SOFTMAX_H
#define ARK_LIB_SUPPORT_SOFTMAX_H

#include "mlir/IR/Builders.h"

namespace mlir::ark {

/// Creates minus infinity, the maximum of no scores.
Value createLeastScore(OpBuilder &builder, Location loc, Type type);

/// Emits `maximum` with minus infinity replaced by zero. Minus infinity is the
/// maximum of a row without valid keys; the exponentials of such a row then are
/// exp(-inf).
Value emitFinite(OpBuilder &builder, Location loc, Value maximum);

/// Emits exp(score - maximum).
Value emitExponential(OpBuilder &builder, Location loc, Value score,
                      Value maximum);

} // namespace mlir::ark

#endif // ARK_LIB_SUPPORT_SOFTMAX_H
