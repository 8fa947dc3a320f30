//===- Bodies.h - Functions of a kernel's tasks -----------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_SUPPORT_BODIES_H
#define ARK_PASSES_TARGET_SUPPORT_BODIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ark {

/// Returns the functions that `ark.kernel` names as bodies, in the order of the
/// op. Leaves out bodies whose code is not in the module.
SmallVector<func::FuncOp> getBodies(ModuleOp module);

/// Returns the loop over the vCTAs that a body is called for; null if there is
/// none.
scf::ForOp getVctaLoop(func::FuncOp body);

/// Returns true for a CTA-collective call in a body, which all threads make
/// together. Such a call writes the last `numWritten` buffers that it is given,
/// and reads the others.
bool isCtaCollective(Operation *op);
int64_t getNumWritten(Operation *call);
void setCtaCollective(Operation *op, int64_t numWritten);

/// Returns true if a buffer of a body holds LL packets, which are stored and
/// loaded one by one.
bool arePackets(Value buffer);

/// Returns true for a part of an argument that threads load directly, each
/// element once.
bool isReadOnce(Operation *view);
void setReadOnce(Operation *view);

/// Returns true for a loop over threads that needs most of their registers:
/// values from before the loop should not stay in registers across it.
bool hasHighRegisterPressure(Operation *loop);
void setHighRegisterPressure(Operation *loop);

/// Returns true for a loop over threads that needs so many registers that no
/// vCTA should keep values in registers for the next one.
bool hasFullRegisterPressure(Operation *loop);
void setFullRegisterPressure(Operation *loop);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_SUPPORT_BODIES_H
