//===- StageBoundary.cpp - Begin and end of a stage -----------------------===//

#include "dialects/ark/ArkDialect.h"
#include "dialects/ark/ArkOps.h"
#include "passes/pipelines/Passes.h"
#include "passes/pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BEGINSTAGEPASS
#define GEN_PASS_DEF_ENDSTAGEPASS
#include "passes/pipelines/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the stage that a pass option names.
static FailureOr<Stage> lookUpStage(ModuleOp module, StringRef name) {
  std::optional<Stage> stage = parseStage(name);
  if (!stage)
    return emitError(module.getLoc()) << "'" << name << "' is not a stage";
  return *stage;
}

static StringRef nameOf(Stage stage) {
  return getStages()[static_cast<size_t>(stage)].name;
}

/// Writes NN-<stage>.mlir, with locations, which are an essential part of a
/// dump.
static LogicalResult dump(ModuleOp module, Stage stage, StringRef folder) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return emitError(module.getLoc()) << "cannot create dump folder '" << folder
                                      << "': " << error.message();
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::formatv("{0,0+2}-{1}.mlir",
                                              static_cast<int>(stage) + 1,
                                              nameOf(stage))
                                    .str());
  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_Text);
  if (error)
    return emitError(module.getLoc())
           << "cannot write '" << path << "': " << error.message();
  // Aliases of locations keep the operations readable.
  module.print(file.os(), OpPrintingFlags().enableDebugInfo());
  file.os().flush();
  if (std::error_code error = file.os().error()) {
    // The error is cleared here: a stream that still has an error when it
    // closes ends the process.
    file.os().clear_error();
    return emitError(module.getLoc())
           << "cannot write '" << path << "': " << error.message();
  }
  file.keep();
  return success();
}

/// Fails unless the module has an `ark.program` or has passed the kernel stage,
/// which replaces the program.
static LogicalResult checkProgram(ModuleOp module, Stage next) {
  if (next > Stage::Kernel || !module.getOps<ProgramOp>().empty())
    return success();
  bool isNested = llvm::any_of(module.getOps<ModuleOp>(), [](ModuleOp inner) {
    return !inner.getOps<ProgramOp>().empty();
  });
  return emitError(module.getLoc())
         << "the module has no ark.program, so there is nothing to compile"
         << (isNested ? ": its programs are in a nested module, which is a "
                        "separate input"
                      : "");
}

/// Returns the first part of a fused location.
static Location getFirstLoc(Location loc) {
  while (auto fused = dyn_cast<FusedLoc>(loc)) {
    if (fused.getLocations().empty())
      break;
    loc = fused.getLocations().front();
  }
  return loc;
}

/// Gives each block argument the location of one op, such as the first op of a
/// merged task. MLIR prints the parts of a fused location as aliases, and
/// cannot parse these in the location of a block argument.
static void simplifyArgumentLocations(ModuleOp module) {
  module.walk([](Block *block) {
    for (BlockArgument argument : block->getArguments())
      argument.setLoc(getFirstLoc(argument.getLoc()));
  });
}

namespace {
struct BeginStagePass : ark::impl::BeginStagePassBase<BeginStagePass> {
  using BeginStagePassBase::BeginStagePassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(check(getOperation())))
      signalPassFailure();
  }

  LogicalResult check(ModuleOp module) {
    FailureOr<Stage> next = lookUpStage(module, stage);
    if (failed(next))
      return failure();
    auto attr = module->getAttrOfType<StringAttr>(ArkDialect::kStageAttr);
    if (!attr)
      return checkProgram(module, *next);
    FailureOr<Stage> reached = lookUpStage(module, attr.getValue());
    if (failed(reached))
      return failure();
    int expected = static_cast<int>(*reached) + 1;
    if (static_cast<int>(*next) == expected)
      return checkProgram(module, *next);
    InFlightDiagnostic diagnostic =
        emitError(module.getLoc())
        << "stage '" << stage.getValue()
        << "' cannot follow: the module has reached stage '" << attr.getValue()
        << "'";
    if (expected < static_cast<int>(getStages().size())) {
      StringRef following = nameOf(static_cast<Stage>(expected));
      diagnostic << "; go on from '" << following
                 << "' (--ark-compile-from=" << following << ")";
    }
    return diagnostic;
  }
};

struct EndStagePass : ark::impl::EndStagePassBase<EndStagePass> {
  using EndStagePassBase::EndStagePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<Stage> reached = lookUpStage(module, stage);
    if (failed(reached))
      return signalPassFailure();
    simplifyArgumentLocations(module);
    module->setAttr(ArkDialect::kStageAttr,
                    StringAttr::get(&getContext(), nameOf(*reached)));
    if (!dumpDir.empty() && failed(dump(module, *reached, dumpDir)))
      signalPassFailure();
  }
};
} // namespace
