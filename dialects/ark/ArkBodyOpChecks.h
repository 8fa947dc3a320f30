//===- ArkBodyOpChecks.h - Functions of all ops of bodies ----- -*- C++ -*-===//

#ifndef DIALECTS_ARK_ARKBODYOPCHECKS_H
#define DIALECTS_ARK_ARKBODYOPCHECKS_H

#include "dialects/ark/ArkInterfaces.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::ark {

/// Fails with an error that names `label` unless static extents of one loop are
/// equal.
LogicalResult verifyLoopExtents(BodyOpInterface op, StringRef label);

/// Fails with an error that names `label` unless an op works on tensors and
/// returns one result for each out, or works on buffers and has no results.
LogicalResult verifyTensorsOrBuffers(BodyOpInterface op, StringRef label);

/// Fails with an error that names `label` unless the region `block` of `op` has
/// arguments of the types `arguments`, yields one `element`, and accesses no
/// memory. `opName` is the name of the op in words.
LogicalResult verifyScoreRegion(Operation *op, Block *block,
                                ArrayRef<Type> arguments, Type element,
                                StringRef opName, StringRef label);

/// Adds a read of each input and a write of each out that is a buffer.
void addBodyOpEffects(BodyOpInterface op,
                      SmallVectorImpl<MemoryEffects::EffectInstance> &effects);

/// Sums and products of numbers of operations, at most the largest int64_t.
int64_t addFlops(int64_t left, int64_t right);
int64_t multiplyFlops(int64_t left, int64_t right);
/// Returns the product of some loop extents, with the same limit.
int64_t multiplyExtents(ArrayRef<int64_t> extents);

} // namespace mlir::ark

#endif // DIALECTS_ARK_ARKBODYOPCHECKS_H
