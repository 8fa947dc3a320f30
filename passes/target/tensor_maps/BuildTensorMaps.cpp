//===- BuildTensorMaps.cpp - Tables of tensor maps of all tasks -----------===//

#include "passes/kernel/KernelAbi.h"
#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/tables/KernelTables.h"
#include "passes/target/tables/KernelTemplate.h"
#include "passes/target/tensor_maps/Passes.h"
#include "passes/target/tensor_maps/TensorMaps.h"

#include "dialects/ark/ArkBodyAttrs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BUILDTENSORMAPSPASS
#include "passes/target/tensor_maps/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

static constexpr llvm::StringLiteral kMaps = "ark_tensor_maps_memory";
static constexpr llvm::StringLiteral kFirstMaps = "ark_tensor_map_firsts_table";
static constexpr llvm::StringLiteral kRecords = "ark_tensor_map_records_table";
static constexpr int64_t kElementBytes = 2;
static constexpr unsigned kGlobalSpace = 1, kConstantSpace = 4;

namespace {
/// The tables that CudaTensorMaps.mlir reads.
struct MapTables {
  /// The index of the first map of every task.
  SmallVector<int32_t> firsts;
  SmallVector<int64_t> records;
  int64_t count = 0;
  /// True if a map names an operand that the operand table lacks.
  bool isOutside = false;

  explicit MapTables(KernelOp kernel);

private:
  void add(const TensorMap &map, const OperandAddress &address);
};
} // namespace

void MapTables::add(const TensorMap &map, const OperandAddress &address) {
  isOutside |= address.slot < 0;
  llvm::append_range(records, ArrayRef<int64_t>{address.slot, address.offset,
                                                map.columns, map.rows,
                                                map.stride * kElementBytes,
                                                map.boxRows});
  ++count;
}

MapTables::MapTables(KernelOp kernel) {
  SymbolTable symbols(kernel->getParentOfType<ModuleOp>());
  SmallVector<SmallVector<TensorMap>> ofBodies;
  for (auto entry : kernel.getBodies().getAsRange<DictionaryAttr>()) {
    auto name = entry.getAs<FlatSymbolRefAttr>("function");
    auto body = name ? symbols.lookup<func::FuncOp>(name.getAttr()) : nullptr;
    ofBodies.push_back(body ? getTensorMaps(body) : SmallVector<TensorMap>());
  }
  auto tasks = llvm::to_vector(kernel.getTaskTable().getValues<int32_t>());
  for (size_t task = 0; task < tasks.size(); task += abi::kTaskFields) {
    firsts.push_back(count);
    for (const TensorMap &map : ofBodies[tasks[task]])
      add(map, getOperandAddress(kernel, tasks[task + 1] + map.operand));
  }
}

template <typename T>
static LLVM::GlobalOp createTable(ModuleOp module, StringRef name,
                                  ArrayRef<T> values, unsigned space) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  int64_t size = values.size();
  Type element = builder.getIntegerType(8 * sizeof(T));
  return LLVM::GlobalOp::create(
      builder, module.getLoc(), LLVM::LLVMArrayType::get(element, size),
      /*isConstant=*/true, LLVM::Linkage::Internal, name,
      DenseElementsAttr::get(RankedTensorType::get({size}, element), values),
      /*alignment=*/sizeof(T), space);
}

/// Creates uninitialised memory, which takes no space in the object file.
static LLVM::GlobalOp createMemory(ModuleOp module, int64_t bytes) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::GlobalOp::create(
      builder, module.getLoc(),
      LLVM::LLVMArrayType::get(builder.getI8Type(), bytes),
      /*isConstant=*/false, LLVM::Linkage::Internal, kMaps,
      LLVM::ZeroAttr::get(builder.getContext()), abi::kTensorMapBytes,
      kGlobalSpace);
}

/// Fails if a body requests a map that it does not describe.
static LogicalResult verifyNumbers(func::FuncOp body) {
  int64_t count = getTensorMaps(body).size();
  WalkResult walk = body.walk([&](func::CallOp call) {
    if (call.getCallee() != kTensorMapFunction)
      return WalkResult::advance();
    std::optional<int64_t> number = getConstantIntValue(call.getOperand(1));
    if (number && *number < count)
      return WalkResult::advance();
    call.emitOpError("uses a tensor map that '")
        << kTensorMapsAttr << "' of its body does not describe";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct BuildTensorMapsPass
    : ark::impl::BuildTensorMapsPassBase<BuildTensorMapsPass> {
  using BuildTensorMapsPassBase::BuildTensorMapsPassBase;

  void runOnOperation() override {
    for (func::FuncOp body : getBodies(getOperation()))
      if (failed(verifyNumbers(body)))
        return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>()) {
      MapTables tables(kernel);
      if (tables.isOutside) {
        kernel.emitOpError("has fewer operands for a body than the tensor "
                           "maps of its function use");
        return signalPassFailure();
      }
      if (tables.count > 0 && failed(complete(kernel, tables)))
        return signalPassFailure();
      numMaps += tables.count;
    }
  }

private:
  LogicalResult complete(KernelOp kernel, const MapTables &tables);
};
} // namespace

LogicalResult BuildTensorMapsPass::complete(KernelOp kernel,
                                            const MapTables &tables) {
  ModuleOp module = getOperation();
  int64_t lanes = kernel.getLanes().size() / abi::kLaneFields;
  auto memory =
      createMemory(module, lanes * tables.count * abi::kTensorMapBytes);
  auto firsts =
      createTable<int32_t>(module, kFirstMaps, tables.firsts, kConstantSpace);
  auto records =
      createTable<int64_t>(module, kRecords, tables.records, kGlobalSpace);
  // The scratch maps share memory with temporaries. The temporaries of any body
  // with maps are larger.
  int64_t scratch = llvm::alignTo(getSharedBytes(kernel), abi::kTensorMapBytes);
  KernelTemplate kernelTemplate(module);
  kernelTemplate.defineAddress("ark_tensor_maps", memory, 0);
  kernelTemplate.defineAddress("ark_tensor_map_firsts", firsts, 0);
  kernelTemplate.defineAddress("ark_tensor_map_records", records, 0);
  kernelTemplate.defineAddress("ark_tensor_map_scratch",
                               getSharedMemory(module), scratch);
  kernelTemplate.defineConstant("ark_tensor_map_count", tables.count);
  kernelTemplate.defineConstant("ark_tensor_map_warps",
                                threads / abi::kCudaWarpSize);
  kernelTemplate.setCallee("ark_begin_tensor_maps", "ark_make_tensor_maps");
  return failure(kernelTemplate.failed());
}
