//===- SpacePointer.h - Pointers to one address space -----------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_MEMORY_ACCESS_SPACEPOINTER_H
#define ARK_PASSES_TARGET_MEMORY_ACCESS_SPACEPOINTER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// NVVM's address spaces of global and of shared memory.
inline constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;

/// Creates a pointer to the first element of a buffer, in an address space.
Value createSpacePointer(ImplicitLocOpBuilder &builder, Value buffer,
                         unsigned space);

/// Adds `bytes`, an index, to a pointer.
Value createOffset(ImplicitLocOpBuilder &builder, Value pointer, Value bytes);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_MEMORY_ACCESS_SPACEPOINTER_H
