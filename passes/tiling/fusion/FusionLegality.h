//===- FusionLegality.h - Conditions on the fusion of two tasks -*- C++ -*-===//
//
// Fusion of two tasks must keep the dependences between vCTAs, the versions of
// states that ops read, and the order of messages between ranks.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TILING_FUSION_FUSIONLEGALITY_H
#define ARK_PASSES_TILING_FUSION_FUSIONLEGALITY_H

#include "passes/tiling/fusion/MergeTasks.h"

#include <optional>

namespace mlir::ark {

/// Returns the task whose result a value is, possibly through views, or null.
TaskOp getProducer(Value value);

/// Returns true if every vCTA of `second` reads only results, or slices of
/// results, of the vCTA of `first` with which it would be merged.
bool readsCorrespondingVcta(TaskOp first, TaskOp second, MergeKind kind);

/// Returns true if `second` reads a result of `first`.
bool readsResultOf(TaskOp second, TaskOp first);

/// Returns true if the put of one task would wait, in the merged task, for a
/// tensor of another rank that only the other task needs. The ranks would then
/// alternate: each put would wait for the previous put of the other rank.
bool delaysPut(TaskOp first, TaskOp second);

/// Returns true if `task` only copies a tensor to another rank.
bool isPut(TaskOp task);

/// Returns true if an op of a body is a product or an attention.
bool isContraction(Operation *op);

/// Returns true if `first` contains a contraction and a contraction of `second`
/// depends on a result of `first`. Programs are chains of contractions; fusion
/// along the chain would join all layers in one task whose body grows with the
/// number of layers.
bool chainContractions(TaskOp first, TaskOp second);

/// Returns true if no op but `second` reads results of `first`.
bool isOnlyReader(TaskOp second, TaskOp first);

/// Returns true if every other reader of a result of `first` depends on
/// `second`, so that a fusion of both tasks delays no reader.
bool isFirstReader(TaskOp second, TaskOp first);

/// Returns the ops between two tasks that depend on the first, in order.
/// Returns nothing if the second task depends on one of them, or if moving the
/// first task and these ops to the second task would change the version of a
/// state that an op reads.
std::optional<SmallVector<Operation *>> getFollowers(TaskOp first,
                                                     TaskOp second);

/// Returns true if one task updates a state whose old value the other one
/// reads, so that in a fused task, a vCTA could read values that another vCTA
/// has written. Each vCTA may update the elements that it has read before.
bool mixVersions(TaskOp first, TaskOp second, MergeKind kind);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_FUSION_FUSIONLEGALITY_H
