//===- ArkKernelOp.cpp - The tables of a kernel ---------------------------===//
//
// Checks carry the constraint labels of ArkScheduleOps.td. These checks ensure
// that a table is safe to read. `ark-verify-kernel` checks that the tables
// agree with each other.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkOps.h"

using namespace mlir;
using namespace mlir::ark;

/// Maximum number of elements of a table. A splat of any size takes little
/// memory in an attribute, but passes visit and copy all of its elements.
static constexpr int64_t kMaxTableElements = int64_t(1) << 26;

/// Maximum number of operands of a body. Passes have a bit for each operand.
static constexpr int64_t kMaxOperands = int64_t(1) << 16;

/// kernel_c1
static LogicalResult verifyTable(KernelOp kernel, StringRef name,
                                 ElementsAttr table, int64_t columns,
                                 unsigned width) {
  ShapedType type = table.getShapedType();
  if (isa<DenseIntOrFPElementsAttr>(table) && type.getRank() == 2 &&
      type.getDimSize(1) == columns &&
      type.getElementType().isSignlessInteger(width)) {
    // A damaged bytecode file can declare a negative number, and more entries
    // than it has.
    int64_t count = type.getDimSize(0);
    if (count < 0 || count > kMaxTableElements / columns)
      return kernel.emitOpError("table '")
             << name << "' has " << count << " entries; a table has 0 to "
             << kMaxTableElements / columns << " (kernel_c1)";
    bool isSplat;
    ArrayRef<char> bytes = cast<DenseIntOrFPElementsAttr>(table).getRawData();
    if (DenseElementsAttr::isValidRawBuffer(type, bytes, isSplat))
      return success();
    return kernel.emitOpError("table '")
           << name << "' declares " << count << " entries, and has "
           << bytes.size() << " bytes (kernel_c1)";
  }
  return kernel.emitOpError("table '")
         << name << "' is " << type << ", not a dense tensor<?x" << columns
         << "xi" << width << "> (kernel_c1)";
}

static LogicalResult verifyTables(KernelOp kernel) {
  return success(
      succeeded(
          verifyTable(kernel, "operands", kernel.getOperandsAttr(), 2, 64)) &&
      succeeded(
          verifyTable(kernel, "task_table", kernel.getTaskTable(), 2, 32)) &&
      succeeded(verifyTable(kernel, "instructions", kernel.getInstructions(), 4,
                            32)) &&
      succeeded(verifyTable(kernel, "lanes", kernel.getLanes(), 3, 32)) &&
      succeeded(verifyTable(kernel, "timeline", kernel.getTimeline(), 2, 64)));
}

/// kernel_c2
static LogicalResult verifyLists(KernelOp kernel) {
  for (ArrayAttr list : {kernel.getBodies(), kernel.getBuffers(),
                         kernel.getTasks(), kernel.getSemaphores()})
    if (!llvm::all_of(list, llvm::IsaPred<DictionaryAttr>))
      return kernel.emitOpError("describes bodies, buffers, tasks and "
                                "semaphores by dictionaries only (kernel_c2)");
  return success();
}

/// kernel_c3
static LogicalResult verifyTaskTable(KernelOp kernel) {
  auto fields = kernel.getTaskTable().getValues<int32_t>();
  int64_t numTasks = kernel.getTasks().size();
  if (static_cast<int64_t>(fields.size()) != 2 * numTasks)
    return kernel.emitOpError("has ")
           << numTasks << " tasks, but " << fields.size() / 2
           << " entries in 'task_table' (kernel_c3)";
  int64_t numBodies = kernel.getBodies().size();
  int64_t numEntries = kernel.getOperandsAttr().getShapedType().getDimSize(0);
  for (int64_t task = 0; task < numTasks; ++task) {
    int64_t body = fields[2 * task], first = fields[2 * task + 1];
    if (body < 0 || body >= numBodies)
      return kernel.emitOpError("task ")
             << task << " has no body " << body << " (kernel_c3)";
    auto count = cast<DictionaryAttr>(kernel.getBodies()[body])
                     .getAs<IntegerAttr>("operands");
    if (first < 0 || first + (count ? count.getInt() : 0) > numEntries)
      return kernel.emitOpError("task ")
             << task << " has operands outside of the table (kernel_c3)";
  }
  return success();
}

/// kernel_c4
static LogicalResult verifyLaneRanges(KernelOp kernel) {
  auto fields = kernel.getLanes().getValues<int32_t>();
  int64_t numInstructions =
      kernel.getInstructions().getShapedType().getDimSize(0);
  for (size_t entry = 0; entry < fields.size(); entry += 3) {
    int64_t begin = fields[entry + 1], end = fields[entry + 2];
    if (begin < 0 || end < begin || end > numInstructions)
      return kernel.emitOpError("lane ")
             << entry / 3 << " has instructions " << begin << " to " << end
             << " of " << numInstructions << " (kernel_c4)";
  }
  return success();
}

/// kernel_c5
static LogicalResult verifyWorkItems(KernelOp kernel) {
  auto fields = kernel.getInstructions().getValues<int32_t>();
  int64_t numTasks = kernel.getTasks().size();
  for (size_t entry = 0; entry < fields.size(); entry += 4) {
    if (fields[entry] != KernelOp::kRunOpcode)
      continue;
    int64_t task = fields[entry + 1], begin = fields[entry + 2],
            end = fields[entry + 3];
    if (task < 0 || task >= numTasks || begin < 0 || end < begin)
      return kernel.emitOpError("instruction ")
             << entry / 4 << " is not valid: [" << fields[entry] << ", " << task
             << ", " << begin << ", " << end << "] (kernel_c5)";
  }
  return success();
}

/// kernel_c6
static LogicalResult verifyBodies(KernelOp kernel) {
  for (auto body : kernel.getBodies().getAsRange<DictionaryAttr>()) {
    auto count = body.getAs<IntegerAttr>("operands");
    if (count && (count.getValue().getSignificantBits() > 64 ||
                  count.getInt() < 0 || count.getInt() > kMaxOperands))
      return kernel.emitOpError("body ")
             << body.get("function") << " has "
             << llvm::toString(count.getValue(), 10, /*Signed=*/true)
             << " operands; a body has 0 to " << kMaxOperands << " (kernel_c6)";
  }
  return success();
}

LogicalResult KernelOp::verify() {
  return success(
      succeeded(verifyTables(*this)) && succeeded(verifyLists(*this)) &&
      succeeded(verifyBodies(*this)) && succeeded(verifyTaskTable(*this)) &&
      succeeded(verifyLaneRanges(*this)) && succeeded(verifyWorkItems(*this)));
}
