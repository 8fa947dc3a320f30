//===- DecodeTables.h - From bytes to rows ----------------------*- C++ -*-===//
//
// Part of the proof of tables: see TableProof.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_VALIDATION_DECODETABLES_H
#define ARK_LIB_VALIDATION_DECODETABLES_H

#include "lib/validation/BundleRecords.h"
#include "lib/validation/TableProof.h"

namespace mlir::ark::validation {

/// Splits the sections into rows and checks each row alone: its indices name
/// what there is, and lanes partition the instructions. Fails with an error at
/// `loc` that names the row.
FailureOr<Tables> decodeTables(const RawTables &raw, const Manifest &manifest,
                               Location loc);

/// Checks what rows say together and a schedule cannot express: where operands
/// lie, what waits look at, when a launch ends, and who belongs to which rank.
LogicalResult checkTables(const Tables &tables, const Manifest &manifest,
                          Location loc);

} // namespace mlir::ark::validation

#endif // ARK_LIB_VALIDATION_DECODETABLES_H
