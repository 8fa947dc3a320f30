//===- TableProof.h - The proof of a bundle's tables ------------*- C++ -*-===//
//
// Translation validation: what a kernel walks is decoded from the bytes of a
// bundle, turned into a program and a schedule again, and proven as any other
// schedule. Shares no code with the passes that make tables. docs/schedule.md
// says what is shown, and docs/bundle.md what the bytes mean.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_VALIDATION_TABLEPROOF_H
#define ARK_LIB_VALIDATION_TABLEPROOF_H

#include "lib/proof/ScheduleChecker.h"

namespace mlir::ark {

/// The bytes of a bundle that a proof needs.
struct RawTables {
  /// What messages call the bundle: a path.
  StringRef where;
  /// JSON.
  StringRef manifest;
  /// Sections, little endian.
  StringRef instructions, lanes, tasks, operands;
};

/// Fails with an error at the first field that contradicts another one, and
/// where the schedule that the tables say cannot be proven. The context needs
/// the ark dialect.
FailureOr<ScheduleProof> proveTables(const RawTables &raw,
                                     MLIRContext &context);

} // namespace mlir::ark

#endif // ARK_LIB_VALIDATION_TABLEPROOF_H
