//===- DecodeTables.h - Decode the tables of a bundle -----------*- C++ -*-===//
//
// Part of the proof of tables: see TableProof.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_VALIDATION_DECODETABLES_H
#define ARK_LIB_VALIDATION_DECODETABLES_H

#include "lib/validation/BundleRecords.h"
#include "lib/validation/TableProof.h"

namespace mlir::ark::validation {

/// Splits the sections into entries and checks each entry on its own: indices
/// name existing records, and lanes partition the instructions. Fails with an
/// error at `loc` that names the entry.
FailureOr<Tables> decodeTables(const RawTables &raw, const Manifest &manifest,
                               Location loc);

/// Checks the rules between entries that a schedule cannot express: slots and
/// offsets of operands, the words that waits poll, the end of a launch, and the
/// rank of tasks and buffers.
LogicalResult checkTables(const Tables &tables, const Manifest &manifest,
                          Location loc);

} // namespace mlir::ark::validation

#endif // ARK_LIB_VALIDATION_DECODETABLES_H
