//===- Pipelines.cpp - Pipeline of all stages -----------------------------===//

#include "passes/pipelines/Pipelines.h"

#include "dialects/ark/ArkOps.h"
#include "passes/graph/Passes.h"
#include "passes/kernel/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/memory/verify/Passes.h"
#include "passes/pipelines/Passes.h"
#include "passes/scheduling/Passes.h"
#include "passes/synchronization/Passes.h"
#include "passes/target/Passes.h"
#include "passes/tiling/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static void buildGraph(OpPassManager &pm,
                       const CompilePipelineOptions &options) {
  buildGraphPipeline(pm, options.collectives);
}

static void buildTiling(OpPassManager &pm, const CompilePipelineOptions &) {
  buildTilingPipeline(pm);
}

static void buildMemory(OpPassManager &pm,
                        const CompilePipelineOptions &options) {
  buildMemoryPipeline(pm, {options.packets, options.memory});
}

static void buildScheduling(OpPassManager &pm,
                            const CompilePipelineOptions &options) {
  buildSchedulingPipeline(pm, options.scheduler);
}

static void buildSynchronization(OpPassManager &pm,
                                 const CompilePipelineOptions &options) {
  buildSynchronizationPipeline(pm, options.verify);
}

static void buildKernel(OpPassManager &pm,
                        const CompilePipelineOptions &options) {
  // A module may enter after the memory stage, whose last pass checks tasks.
  pm.addNestedPass<ProgramOp>(createVerifyTasksPass());
  buildKernelPipeline(pm, {options.trace});
}

static void buildTarget(OpPassManager &pm,
                        const CompilePipelineOptions &options) {
  buildTargetPipeline(pm, {options.vectorElements});
}

ArrayRef<StageInfo> ark::getStages() {
  static const StageInfo stages[] = {
      {Stage::Graph, "graph", "ark ops on tensors become groups", buildGraph},
      {Stage::Tiling, "tiling", "groups become tasks on tiles", buildTiling},
      {Stage::Memory, "memory", "tasks work on buffers of one arena",
       buildMemory},
      {Stage::Scheduling, "scheduling", "vCTAs get a lane and an order",
       buildScheduling},
      {Stage::Synchronization, "synchronization",
       "lanes are synchronised, and the schedule is proven",
       buildSynchronization},
      {Stage::Kernel, "kernel", "one kernel function, its tables and bodies",
       buildKernel},
      {Stage::Target, "target", "code of the target machine", buildTarget},
  };
  return stages;
}

std::optional<Stage> ark::parseStage(StringRef name) {
  for (const StageInfo &info : getStages())
    if (info.name == name)
      return info.stage;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// ark-compile
//===----------------------------------------------------------------------===//

static LogicalResult
checkStageName(StringRef option, StringRef name,
               function_ref<LogicalResult(const Twine &)> error) {
  if (parseStage(name))
    return success();
  std::string known = llvm::join(
      llvm::map_range(getStages(), [](auto &info) { return info.name; }), ", ");
  return error("'" + name + "' is not a stage: option '" + option +
               "' is one of " + known);
}

LogicalResult
ark::buildCompilePipeline(OpPassManager &pm,
                          const CompilePipelineOptions &options,
                          function_ref<LogicalResult(const Twine &)> error) {
  if (failed(checkStageName("from", options.from, error)) ||
      failed(checkStageName("to", options.to, error)))
    return failure();
  Stage from = *parseStage(options.from), to = *parseStage(options.to);
  if (to < from)
    return error("stage '" + options.to + "' comes before '" + options.from +
                 "'");

  pm.addPass(createAssignTargetPass({options.target}));
  for (const StageInfo &info : getStages()) {
    if (info.stage < from || info.stage > to)
      continue;
    pm.addPass(createBeginStagePass({info.name.str()}));
    info.build(pm, options);
    pm.addPass(createEndStagePass({info.name.str(), options.dumpDir}));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

namespace {
/// Flags that accompany `--ark-compile-to`. The settings are flags instead of
/// passes, because their order on the command line does not matter.
struct CompileFlags {
  llvm::cl::opt<std::string> from{
      "ark-compile-from", llvm::cl::desc("First stage to run"),
      llvm::cl::value_desc("stage"), llvm::cl::init("graph")};
  llvm::cl::opt<std::string> target{
      "ark-target",
      llvm::cl::desc("Machine to compile for: cpu, cpu:<workers>, "
                     "cuda:<arch>, hip:<arch>, or the text of an #ark.target"),
      llvm::cl::value_desc("target")};
  llvm::cl::opt<std::string> collectives{
      "ark-collectives",
      llvm::cl::desc("Algorithm of collectives: auto, one-shot, two-shot or "
                     "ring"),
      llvm::cl::value_desc("name")};
  llvm::cl::opt<std::string> scheduler{"ark-scheduler",
                                       llvm::cl::desc("Scheduler by name"),
                                       llvm::cl::value_desc("name")};
  llvm::cl::opt<std::string> dumpDir{
      "ark-dump-dir",
      llvm::cl::desc("Folder for NN-<stage>.mlir after every stage"),
      llvm::cl::value_desc("folder")};
  llvm::cl::opt<bool> packets{
      "ark-packets",
      llvm::cl::desc("Hand off small activations as packets, on GPUs")};
  llvm::cl::opt<int64_t> memory{
      "ark-memory", llvm::cl::value_desc("bytes"), llvm::cl::init(0),
      llvm::cl::desc("Bytes of the arena of each rank; 0 means no limit")};
  llvm::cl::opt<bool> trace{
      "ark-trace",
      llvm::cl::desc(
          "Build a kernel that records the times of its instructions")};
  llvm::cl::opt<bool> verify{"ark-verify-schedule", llvm::cl::init(true),
                             llvm::cl::desc("Prove the schedule")};
};
} // namespace

static CompileFlags &getFlags() {
  static CompileFlags flags;
  return flags;
}

/// Handles `--ark-compile-to=<stage>`: the text after `=` is only the stage.
static LogicalResult
buildFromFlags(OpPassManager &pm, StringRef to,
               function_ref<LogicalResult(const Twine &)> error) {
  CompileFlags &flags = getFlags();
  CompilePipelineOptions options;
  options.to = to.str();
  options.from = flags.from;
  options.target = flags.target;
  options.collectives = flags.collectives;
  options.scheduler = flags.scheduler;
  options.dumpDir = flags.dumpDir;
  options.packets = flags.packets;
  options.memory = flags.memory;
  options.trace = flags.trace;
  options.verify = flags.verify;
  return buildCompilePipeline(pm, options, error);
}

static LogicalResult
buildFromOptions(OpPassManager &pm, StringRef text,
                 function_ref<LogicalResult(const Twine &)> error) {
  CompilePipelineOptions options;
  if (failed(options.parseFromString(text)))
    return error("ark-compile: cannot parse options '" + text + "'");
  return buildCompilePipeline(pm, options, error);
}

void ark::registerArkPipelines() {
  registerArkPipelinesPasses();
  getFlags();
  registerPassPipeline(
      "ark-compile", "Run the stages from one to another", buildFromOptions,
      [](function_ref<void(const mlir::detail::PassOptions &)> visit) {
        visit(CompilePipelineOptions());
      });
  registerPassPipeline(
      "ark-compile-to", "Run the stages up to the named stage, inclusive",
      buildFromFlags,
      [](function_ref<void(const mlir::detail::PassOptions &)>) {});
}
