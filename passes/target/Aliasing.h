//===- Aliasing.h - Which buffers of a body may overlap ---------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ALIASING_H
#define ARK_PASSES_TARGET_ALIASING_H

#include "mlir/IR/Value.h"

namespace mlir::ark {

/// What a buffer is a view of: an argument of the body, or a temporary.
Value getRoot(Value buffer);

/// Whether a root shares bytes with no other.
bool isNoAlias(Value root);

/// Whether two buffers may have bytes in common. Temporaries share none, and
/// neither do arguments that say so.
bool mayAlias(Value a, Value b);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ALIASING_H
