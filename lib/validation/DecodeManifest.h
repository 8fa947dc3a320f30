//===- DecodeManifest.h - From JSON to records ------------------*- C++ -*-===//
//
// Part of the proof of tables: see TableProof.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_VALIDATION_DECODEMANIFEST_H
#define ARK_LIB_VALIDATION_DECODEMANIFEST_H

#include "lib/validation/BundleRecords.h"

namespace mlir::ark::validation {

/// Decodes the parts of a manifest that the proof needs. Fails with an error at
/// `loc` if a number is out of range or an index names no record.
FailureOr<Manifest> decodeManifest(StringRef json, Location loc);

} // namespace mlir::ark::validation

#endif // ARK_LIB_VALIDATION_DECODEMANIFEST_H
