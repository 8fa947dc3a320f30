//===- ExportProblem.cpp - Export the scheduling problem as JSON ----------===//

#include "passes/scheduling/Passes.h"
#include "passes/scheduling/Scheduler.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

#include <map>
#include <set>

namespace mlir::ark {
#define GEN_PASS_DEF_EXPORTPROBLEMPASS
#include "passes/scheduling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
class ProblemWriter {
public:
  ProblemWriter(llvm::json::OStream &json, const SchedulerInput &input)
      : json(json), input(input) {}

  void write();

private:
  void writeRange(StringRef key, Interval range);
  void writeLanes();
  void writeTasks();
  void writeNeeds();
  void writeNeedsOf(unsigned task, int64_t vcta);

  llvm::json::OStream &json;
  const SchedulerInput &input;
};
} // namespace

void ProblemWriter::writeRange(StringRef key, Interval range) {
  json.attributeArray(key, [&] {
    json.value(range.first);
    json.value(range.second);
  });
}

void ProblemWriter::writeLanes() {
  for (const Placement::SMLane &smLane : input.placement.smLanes)
    for (int64_t sm = 0; sm < int64_t(input.target.getSms()); ++sm)
      json.object([&] {
        json.attribute("sm", sm);
        writeRange("warps", smLane.warps);
        if (smLane.sharedMemory)
          writeRange("shared_memory", *smLane.sharedMemory);
      });
}

void ProblemWriter::writeTasks() {
  for (auto [task, op] : llvm::enumerate(input.dependences.getTasks())) {
    const Placement::Pin &pin = input.placement.pins[task];
    int64_t firstLane = pin.smLane * int64_t(input.target.getSms());
    json.object([&, task = unsigned(task), op = TaskOp(op)] {
      json.attribute("name", TaskOp(op).getName());
      writeRange("lanes",
                 {firstLane + pin.sms.first, firstLane + pin.sms.second});
      json.attributeArray("ns", [&] {
        for (int64_t vcta = 0, end = TaskOp(op).getNumVCTAs(); vcta < end;
             ++vcta)
          json.value(input.costs.getWorkItemNs(task, vcta, vcta + 1));
      });
    });
  }
}

/// Writes the vCTAs of each producer that one vCTA depends on through any
/// operand.
void ProblemWriter::writeNeedsOf(unsigned task, int64_t vcta) {
  std::map<unsigned, std::set<int64_t>> producers;
  for (const Dependence &dependence : input.dependences.getIncoming(task))
    for (Interval range : dependence.relation->getProducersOf(vcta))
      for (int64_t other = range.first; other < range.second; ++other)
        producers[dependence.producer].insert(other);
  for (auto &[producer, vctas] : producers)
    json.object([&, &vctas = vctas, producer = producer] {
      json.attribute("task", int64_t(task));
      json.attribute("vcta", vcta);
      json.attribute("producer", int64_t(producer));
      json.attributeArray("vctas", [&] {
        for (int64_t other : vctas)
          json.value(other);
      });
    });
}

void ProblemWriter::writeNeeds() {
  for (auto [task, op] : llvm::enumerate(input.dependences.getTasks()))
    for (int64_t vcta = 0, end = TaskOp(op).getNumVCTAs(); vcta < end; ++vcta)
      writeNeedsOf(task, vcta);
}

void ProblemWriter::write() {
  size_t numLanes = input.placement.smLanes.size() * input.target.getSms();
  json.object([&] {
    json.attribute("sms", int64_t(input.target.getSms()));
    json.attributeArray("lanes", [&] { writeLanes(); });
    json.attributeArray("tasks", [&] { writeTasks(); });
    json.attributeArray("needs", [&] { writeNeeds(); });
    json.attributeArray("handoff", [&] {
      for (size_t lanes = 1; lanes <= numLanes; ++lanes)
        json.value(input.costs.getHandoffNs(lanes));
    });
  });
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ExportProblemPass : ark::impl::ExportProblemPassBase<ExportProblemPass> {
  using ExportProblemPassBase::ExportProblemPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(exportProblem(getOperation())))
      signalPassFailure();
  }

  LogicalResult checkSize(ProgramOp program) {
    int64_t count = 0;
    for (auto task : program.getBody().getOps<TaskOp>())
      count += task.getNumVCTAs();
    if (count <= maxVCTAs.getValue())
      return success();
    return program.emitOpError("has ")
           << count << " vCTAs, too many for an exact solution: at most "
           << maxVCTAs.getValue();
  }

  LogicalResult exportProblem(ProgramOp program) {
    if (failed(checkSize(program)))
      return failure();
    return withSchedulerInput(
        program, [&](const SchedulerInput &input) { return writeFile(input); });
  }

  LogicalResult writeFile(const SchedulerInput &input) {
    ProgramOp program = input.program;
    std::error_code error;
    llvm::ToolOutputFile out(file, error, llvm::sys::fs::OF_Text);
    if (error)
      return program.emitOpError("cannot write its scheduling problem to '")
             << file.getValue() << "': " << error.message();
    llvm::json::OStream json(out.os(), /*IndentSize=*/1);
    ProblemWriter(json, input).write();
    out.keep();
    return success();
  }
};
} // namespace
