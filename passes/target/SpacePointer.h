//===- SpacePointer.h - Pointers of one address space -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SPACEPOINTER_H
#define ARK_PASSES_TARGET_SPACEPOINTER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// What NVVM calls global and shared memory.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// A pointer to an address space: to where the elements of a buffer begin.
Value createSpacePointer(ImplicitLocOpBuilder &builder, Value buffer,
                         unsigned space);

/// As many bytes, an index, further on.
Value createOffset(ImplicitLocOpBuilder &builder, Value pointer, Value bytes);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SPACEPOINTER_H
