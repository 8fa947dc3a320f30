//===- LiftTables.h - Lift tables to a program ------------------*- C++ -*-===//
//
// Part of the proof of tables: see TableProof.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_VALIDATION_LIFTTABLES_H
#define ARK_LIB_VALIDATION_LIFTTABLES_H

#include "lib/validation/BundleRecords.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::ark::validation {

/// Returns a module with a program whose bodies hold at most an `ark.epoch`,
/// and a schedule with one lane op for every lane. `where` names the bundle in
/// locations.
OwningOpRef<ModuleOp> liftTables(const Tables &tables, const Manifest &manifest,
                                 StringRef where, MLIRContext &context);

} // namespace mlir::ark::validation

#endif // ARK_LIB_VALIDATION_LIFTTABLES_H
