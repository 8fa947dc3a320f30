//===- KernelTables.cpp - Readers of the kernel's tables ------------------===//

#include "passes/target/tables/KernelTables.h"

#include "passes/kernel/KernelAbi.h"
#include "passes/target/support/Alignment.h"

using namespace mlir;
using namespace mlir::ark;

static_assert(KernelOp::kRunOpcode == static_cast<int32_t>(abi::Opcode::Run));

SmallVector<SmallVector<LaneWorkItem>> ark::getLaneWorkItems(KernelOp kernel) {
  auto tasks = llvm::to_vector(kernel.getTaskTable().getValues<int32_t>());
  auto fields = llvm::to_vector(kernel.getInstructions().getValues<int32_t>());
  auto lanes = llvm::to_vector(kernel.getLanes().getValues<int32_t>());
  SmallVector<SmallVector<LaneWorkItem>> all;
  for (size_t lane = 0; lane < lanes.size(); lane += abi::kLaneFields) {
    SmallVector<LaneWorkItem> workItems;
    for (int64_t index = lanes[lane + abi::kLaneBegin];
         index < lanes[lane + abi::kLaneEnd]; ++index) {
      const int32_t *instruction = &fields[index * abi::kInstructionFields];
      if (instruction[0] != KernelOp::kRunOpcode)
        continue;
      const int32_t *task = &tasks[instruction[1] * abi::kTaskFields];
      workItems.push_back({task[0], task[1], instruction[2], instruction[3]});
    }
    all.push_back(std::move(workItems));
  }
  return all;
}

int64_t ark::getLongestWorkItem(KernelOp kernel, func::FuncOp body) {
  int64_t longest = 0;
  for (ArrayRef<LaneWorkItem> lane : getLaneWorkItems(kernel))
    for (const LaneWorkItem &workItem : lane) {
      auto entry = cast<DictionaryAttr>(kernel.getBodies()[workItem.body]);
      auto name = entry.getAs<FlatSymbolRefAttr>("function");
      if (name && name.getValue() == StringRef(body.getSymName()))
        longest = std::max(longest, workItem.end - workItem.begin);
    }
  return longest;
}

OperandAddress ark::getOperandAddress(KernelOp kernel, int64_t index) {
  auto values = kernel.getOperandsAttr().getValues<int64_t>();
  // A body may have more arguments than the table has operands for the task.
  if ((index + 1) * abi::kOperandFields > static_cast<int64_t>(values.size()))
    return {/*slot=*/-1, /*offset=*/0};
  return {values[index * abi::kOperandFields],
          values[index * abi::kOperandFields + abi::kOperandOffset]};
}

/// Returns true if no task writes the buffer of a slot.
static bool isConstantSlot(KernelOp kernel, int64_t slot) {
  if (slot < 1 || slot > static_cast<int64_t>(kernel.getBuffers().size()))
    return false;
  auto buffer = cast<DictionaryAttr>(kernel.getBuffers()[slot - 1]);
  auto kind = buffer.getAs<StringAttr>("kind");
  return kind && (kind == stringifyArgumentKind(ArgumentKind::Parameter) ||
                  kind == stringifyArgumentKind(ArgumentKind::Constant));
}

static std::optional<int32_t> getBodyIndex(KernelOp kernel, func::FuncOp body) {
  for (auto [index, entry] : llvm::enumerate(kernel.getBodies()))
    if (cast<DictionaryAttr>(entry).getAs<FlatSymbolRefAttr>("function") ==
        FlatSymbolRefAttr::get(body.getSymNameAttr()))
      return index;
  return std::nullopt;
}

bool ark::isParameter(KernelOp kernel, func::FuncOp body,
                      BlockArgument argument) {
  auto tasks = llvm::to_vector(kernel.getTaskTable().getValues<int32_t>());
  std::optional<int32_t> index = getBodyIndex(kernel, body);
  int64_t operand = argument.getArgNumber() - abi::kBodyOperands;
  for (size_t task = 0; task < tasks.size(); task += abi::kTaskFields) {
    if (index != tasks[task])
      continue;
    OperandAddress address =
        getOperandAddress(kernel, tasks[task + 1] + operand);
    if (!isConstantSlot(kernel, address.slot) ||
        address.offset % abi::kGpuBufferAlignment != 0)
      return false;
  }
  return isAlignedArgument(argument);
}
