//===- TableProof.h - The proof of a bundle's tables ------------*- C++ -*-===//
//
// Translation validation: decodes the instructions of a kernel from the bytes
// of a bundle, lifts them to a program and a schedule, and proves the schedule.
// The code is independent of the passes that build tables. docs/schedule.md
// describes the proof, and docs/bundle.md describes the bytes.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_VALIDATION_TABLEPROOF_H
#define ARK_LIB_VALIDATION_TABLEPROOF_H

#include "lib/proof/ScheduleChecker.h"

namespace mlir::ark {

/// The bytes of a bundle that a proof needs.
struct RawTables {
  /// The name of the bundle in messages: a path.
  StringRef where;
  /// The manifest, as JSON.
  StringRef manifest;
  /// The sections with the tables, little endian.
  StringRef instructions, lanes, tasks, operands;
};

/// Proves the schedule that tables describe. Fails with an error at the first
/// field that contradicts another field, or if the schedule cannot be proven.
/// Loads the ark dialect into the context.
FailureOr<ScheduleProof> proveTables(const RawTables &raw,
                                     MLIRContext &context);

} // namespace mlir::ark

#endif // ARK_LIB_VALIDATION_TABLEPROOF_H
