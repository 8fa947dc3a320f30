//===- Bodies.h - The functions of a kernel's tasks -------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_BODIES_H
#define ARK_PASSES_TARGET_BODIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::ark {

/// The functions that `ark.kernel` names as bodies, in its order, as far as the
/// module has their code.
SmallVector<func::FuncOp> getBodies(ModuleOp module);

/// The loop over the vCTAs that a body is called for; null where it has none.
scf::ForOp getVctaLoop(func::FuncOp body);

/// A call in a body that all threads make together. It writes so many of the
/// last buffers that it is given, and reads the others.
bool isCooperative(Operation *op);
int64_t getNumWritten(Operation *cooperative);
void setCooperative(Operation *op, int64_t numWritten);

/// Whether a buffer of a body is packets of another task, which are stored and
/// loaded one by one.
bool arePackets(Value buffer);

/// A part of an argument that threads load by themselves, each element once.
bool isReadOnce(Operation *view);
void setReadOnce(Operation *view);

/// A loop over threads that needs most of their registers: what is before it
/// and behind it should keep none in it.
bool isCrowded(Operation *loop);
void setCrowded(Operation *loop);

/// A loop over threads that needs so many that vCTAs should keep none for the
/// next ones.
bool fillsRegisters(Operation *loop);
void setFillsRegisters(Operation *loop);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_BODIES_H
