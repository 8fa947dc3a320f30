//===- Pipelines.h - Pipeline of all stages ---------------------*- C++ -*-===//
//
// Defines the only list of stages. Names of folders, options and dump files,
// the help texts and Python's `ark_mlir.compiler.stages` come from this list.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_PIPELINES_PIPELINES_H
#define ARK_PASSES_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mlir::ark {

enum class Stage {
  Graph,
  Tiling,
  Memory,
  Scheduling,
  Synchronization,
  Kernel,
  Target,
};

/// Options of `ark-compile`.
struct CompilePipelineOptions
    : public PassPipelineOptions<CompilePipelineOptions> {
  Option<std::string> to{*this, "to", llvm::cl::desc("Last stage to run"),
                         llvm::cl::init("target")};
  Option<std::string> from{*this, "from", llvm::cl::desc("First stage to run"),
                           llvm::cl::init("graph")};
  Option<std::string> target{
      *this, "target",
      llvm::cl::desc("cpu, cpu:<workers>, cuda:<arch>, hip:<arch>, or the text "
                     "of an #ark.target; default: the module's own"),
      llvm::cl::init("")};
  Option<std::string> collectives{
      *this, "collectives",
      llvm::cl::desc("Algorithm of collectives: auto, one-shot, two-shot or "
                     "ring"),
      llvm::cl::init("")};
  Option<std::string> scheduler{*this, "scheduler",
                                llvm::cl::desc("Scheduler by name"),
                                llvm::cl::init("")};
  Option<std::string> dumpDir{
      *this, "dump-dir",
      llvm::cl::desc("Folder for NN-<stage>.mlir after every stage"),
      llvm::cl::init("")};
  Option<bool> verify{*this, "verify", llvm::cl::desc("Prove the schedule"),
                      llvm::cl::init(true)};
  Option<bool> packets{
      *this, "packets",
      llvm::cl::desc("Hand off small activations as packets, on GPUs"),
      llvm::cl::init(false)};
  Option<int64_t> memory{
      *this, "memory",
      llvm::cl::desc("Bytes of the arena of each rank; 0 means no limit"),
      llvm::cl::init(0)};
  Option<bool> trace{
      *this, "trace",
      llvm::cl::desc(
          "Build a kernel that records the times of its instructions"),
      llvm::cl::init(false)};
  Option<int64_t> vectorElements{
      *this, "vector-elements",
      llvm::cl::desc("f32 elements of a vector register of the cpu; 0 selects "
                     "those of this machine"),
      llvm::cl::init(0)};
};

struct StageInfo {
  Stage stage;
  StringRef name;
  StringRef description;
  /// Adds the passes of the stage.
  void (*build)(OpPassManager &pm, const CompilePipelineOptions &options);
};

/// All stages in pipeline order.
ArrayRef<StageInfo> getStages();

/// Returns the stage with a name, or nothing.
std::optional<Stage> parseStage(StringRef name);

/// Adds the stages `from` to `to`, each between its boundary passes. Reports
/// unknown names through `error`.
LogicalResult
buildCompilePipeline(OpPassManager &pm, const CompilePipelineOptions &options,
                     function_ref<LogicalResult(const Twine &)> error);

/// Registers `ark-compile` and `--ark-compile-to=<stage>`.
void registerArkPipelines();

} // namespace mlir::ark

#endif // ARK_PASSES_PIPELINES_PIPELINES_H
