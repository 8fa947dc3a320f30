//===- Bodies.h - Functions of a kernel's tasks -----------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_BODIES_H
#define ARK_PASSES_TARGET_SUPPORT_BODIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ark {

/// Returns the functions that `ark.kernel` names as bodies, in its order. Omits
/// bodies whose code is not in the module.
SmallVector<func::FuncOp> getBodies(ModuleOp module);

/// Returns the loop over the vCTAs of a body, or null.
scf::ForOp getVctaLoop(func::FuncOp body);

/// Returns true for a CTA-collective call in a body, which all threads execute.
/// The call writes its last `numWritten` buffers, and reads the others.
bool isCtaCollective(Operation *op);
int64_t getNumWritten(Operation *call);
void setCtaCollective(Operation *op, int64_t numWritten);

/// Returns true if a buffer holds LL packets, which are stored and loaded one
/// at a time.
bool arePackets(Value buffer);

/// Returns true for a view of an argument that threads load directly, each
/// element once.
bool isReadOnce(Operation *view);
void setReadOnce(Operation *view);

/// Returns true for a loop over threads that needs most registers: values from
/// before the loop should not stay live across it.
bool hasHighRegisterPressure(Operation *loop);
void setHighRegisterPressure(Operation *loop);

/// Returns true for a loop over threads that needs nearly all registers: no
/// value should stay live from one vCTA to the next.
bool hasFullRegisterPressure(Operation *loop);
void setFullRegisterPressure(Operation *loop);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_BODIES_H
