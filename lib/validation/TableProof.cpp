//===- TableProof.cpp - The proof of a bundle's tables --------------------===//

#include "lib/validation/TableProof.h"

#include "lib/validation/DecodeManifest.h"
#include "lib/validation/DecodeTables.h"
#include "lib/validation/LiftTables.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::validation;

/// Returns true if the tables have no instructions and the program has no
/// tasks.
static bool isEmpty(const Tables &tables, const Manifest &manifest) {
  return tables.instructions.empty() && manifest.tasks.empty();
}

FailureOr<ScheduleProof> mlir::ark::proveTables(const RawTables &raw,
                                                MLIRContext &context) {
  context.loadDialect<ArkDialect>();
  Location loc = FileLineColLoc::get(&context, raw.where, 0, 0);
  FailureOr<Manifest> manifest = decodeManifest(raw.manifest, loc);
  if (failed(manifest))
    return failure();
  FailureOr<Tables> tables = decodeTables(raw, *manifest, loc);
  if (failed(tables) || failed(checkTables(*tables, *manifest, loc)))
    return failure();
  if (isEmpty(*tables, *manifest))
    return ScheduleProof();
  OwningOpRef<ModuleOp> module =
      liftTables(*tables, *manifest, raw.where, context);
  if (failed(verify(*module)))
    return failure();
  auto program = *module->getOps<ProgramOp>().begin();
  return checkSchedule(*program.getBody().getOps<ScheduleOp>().begin());
}
