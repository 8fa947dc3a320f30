//===- BuildKernel.cpp - Build the persistent kernel's functions ----------===//

#include "dialects/ark/ArkBodyAttrs.h"
#include "dialects/ark/ArkDomains.h"
#include "lib/backend/Backend.h"
#include "lib/support/BufferView.h"
#include "passes/kernel/KernelAbi.h"
#include "passes/kernel/KernelTextLinker.h"
#include "passes/kernel/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_BUILDKERNELPASS
#include "passes/kernel/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Code that is the same for every program
//===----------------------------------------------------------------------===//

static void buildTraced(func::FuncOp function, bool trace) {
  OpBuilder builder = OpBuilder::atBlockBegin(function.addEntryBlock());
  Location loc = function.getLoc();
  Value value = arith::ConstantIntOp::create(builder, loc, trace, 1);
  func::ReturnOp::create(builder, loc, value);
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

namespace {
/// Builds the body of @ark_execute_work_item: a switch over the task bodies.
/// Each case calls one body with memrefs for its entries of the operand table.
class DispatchBuilder {
public:
  DispatchBuilder(func::FuncOp run, SymbolTable &symbols)
      : run(run), mark(symbols.lookup<func::FuncOp>(abi::kMarkGlobalFunction)),
        readTask(symbols.lookup<func::FuncOp>(abi::kTaskFunction)),
        findOperand(symbols.lookup<func::FuncOp>(abi::kOperandFunction)),
        copyToDomain(symbols.lookup<func::FuncOp>(abi::kCopyToDomainFunction)),
        loc(run.getLoc()), builder(run.getContext()),
        converter(run.getContext()),
        pointer(LLVM::LLVMPointerType::get(run.getContext())) {}

  void build(ArrayRef<func::FuncOp> bodies);

private:
  Value toIndex(Value value);
  Value makeMemRef(MemRefType type, Value address);
  Value loadStatus();
  Value loadOperand(int64_t index);
  void buildNetworkCopy(func::FuncOp body, Block *end);
  void buildCase(func::FuncOp body, Block *end);

  func::FuncOp run;
  /// Function that marks the addresses passed to bodies; null if the texts have
  /// none.
  func::FuncOp mark;
  func::FuncOp readTask, findOperand;
  /// Null if the texts have no such function.
  func::FuncOp copyToDomain;
  Location loc;
  OpBuilder builder;
  LLVMTypeConverter converter;
  Type pointer;
  Value firstOperand;
};
} // namespace

/// Casts the index of a task or of a vCTA to the type `index`. An i32 is
/// zero-extended, because it is never negative.
Value DispatchBuilder::toIndex(Value value) {
  Type index = builder.getIndexType();
  if (value.getType().isInteger(32))
    return arith::IndexCastUIOp::create(builder, loc, index, value);
  return arith::IndexCastOp::create(builder, loc, index, value);
}

/// Makes a memref from a raw address. The descriptor disappears again when
/// bodies take bare pointers.
Value DispatchBuilder::makeMemRef(MemRefType type, Value address) {
  if (mark)
    address = func::CallOp::create(builder, loc, mark, address).getResult(0);
  Value descriptor =
      MemRefDescriptor::fromStaticShape(builder, loc, converter, type, address);
  return UnrealizedConversionCastOp::create(builder, loc, type, descriptor)
      .getResult(0);
}

/// Loads the address of the record of data errors.
Value DispatchBuilder::loadStatus() {
  Value field = LLVM::GEPOp::create(
      builder, loc, pointer, builder.getI64Type(), run.getArgument(0),
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(abi::kStatus)});
  return LLVM::LoadOp::create(builder, loc, pointer, field);
}

/// Returns the address of operand `index` of the task.
Value DispatchBuilder::loadOperand(int64_t index) {
  Value operandIndex = arith::AddIOp::create(
      builder, loc, firstOperand,
      arith::ConstantIntOp::create(builder, loc, index, 64));
  return func::CallOp::create(builder, loc, findOperand,
                              ValueRange{run.getArgument(0), operandIndex})
      .getResult(0);
}

/// Leaves the case if a network adapter copies. The rest of the case is for a
/// destination that the SM can write.
void DispatchBuilder::buildNetworkCopy(func::FuncOp body, Block *end) {
  auto type = cast<MemRefType>(body.getArgumentTypes()[abi::kBodyOperands + 1]);
  Value bytes =
      arith::ConstantIntOp::create(builder, loc, getBufferBytes(type), 64);
  Value copies =
      func::CallOp::create(
          builder, loc, copyToDomain,
          ValueRange{run.getArgument(0), loadOperand(0), loadOperand(1), bytes})
          .getResult(0);
  Block *rest = builder.createBlock(end);
  builder.setInsertionPointAfterValue(copies);
  cf::CondBranchOp::create(builder, loc, copies, end, rest);
  builder.setInsertionPointToStart(rest);
}

void DispatchBuilder::buildCase(func::FuncOp body, Block *end) {
  if (copyToDomain && body->hasAttr(kNetworkCopyAttr))
    buildNetworkCopy(body, end);
  body->removeAttr(kNetworkCopyAttr);
  SmallVector<Value> arguments = {
      toIndex(run.getArgument(2)), toIndex(run.getArgument(3)),
      toIndex(run.getArgument(1)),
      makeMemRef(cast<MemRefType>(body.getArgumentTypes()[abi::kBodyStatus]),
                 loadStatus())};
  for (auto [index, type] :
       llvm::enumerate(body.getArgumentTypes().drop_front(abi::kBodyOperands)))
    arguments.push_back(makeMemRef(cast<MemRefType>(type), loadOperand(index)));
  func::CallOp::create(builder, loc, body, arguments);
  cf::BranchOp::create(builder, loc, end);
}

void DispatchBuilder::build(ArrayRef<func::FuncOp> bodies) {
  Block *entry = run.addEntryBlock();
  Block *end = builder.createBlock(&run.getBody());
  func::ReturnOp::create(builder, loc);

  builder.setInsertionPointToEnd(entry);
  Value taskIndex = run.getArgument(1);
  if (taskIndex.getType().isInteger(32))
    taskIndex =
        arith::ExtUIOp::create(builder, loc, builder.getI64Type(), taskIndex);
  Value task = func::CallOp::create(builder, loc, readTask,
                                    ValueRange{run.getArgument(0), taskIndex})
                   .getResult(0);
  Value body = vector::ExtractOp::create(builder, loc, task, 0);
  firstOperand =
      arith::ExtSIOp::create(builder, loc, builder.getI64Type(),
                             vector::ExtractOp::create(builder, loc, task, 1));

  SmallVector<int32_t> values;
  SmallVector<Block *> cases;
  for (func::FuncOp function : bodies) {
    OpBuilder::InsertionGuard guard(builder);
    values.push_back(cases.size());
    cases.push_back(builder.createBlock(end));
    buildCase(function, end);
  }
  SmallVector<ValueRange> noOperands(cases.size());
  cf::SwitchOp::create(builder, loc, body, end, ValueRange(),
                       ArrayRef<int32_t>(values), cases, noOperands);
}

/// Returns true if `type` is a memref with static shape, strides and offset:
/// its descriptor then holds constants and an address.
static bool isStaticBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  return memref && memref.hasStaticShape() &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         !ShapedType::isDynamic(offset) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

/// Returns true if the dispatch can call `function`: it takes a range of vCTAs,
/// the task and buffers whose elements LLVM knows, and has no results.
static bool canBeCalled(func::FuncOp function) {
  ArrayRef<Type> types = function.getArgumentTypes();
  LLVMTypeConverter converter(function.getContext());
  auto isBuffer = [&](Type type) {
    return isStaticBuffer(type) && converter.convertType(type);
  };
  return types.size() >= abi::kBodyOperands && function.getNumResults() == 0 &&
         llvm::all_of(types.take_front(abi::kBodyStatus),
                      llvm::IsaPred<IndexType>) &&
         llvm::all_of(types.drop_front(abi::kBodyStatus), isBuffer);
}

static RankLinks getLinks(KernelOp kernel) {
  if (!kernel.getRanks())
    return RankLinks::None;
  Domains domains(kernel);
  if (!domains.areSeveral())
    return RankLinks::Peers;
  return domains.usePortChannels() ? RankLinks::PortChannels
                                   : RankLinks::Network;
}

namespace {
struct BuildKernelPass : ark::impl::BuildKernelPassBase<BuildKernelPass> {
  using BuildKernelPassBase::BuildKernelPassBase;

  /// Kernel texts contain ops of all registered backends.
  void getDependentDialects(DialectRegistry &registry) const override {
    BuildKernelPassBase::getDependentDialects(registry);
    for (const Backend *backend : getBackends())
      backend->registerDialects(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernels = module.getOps<KernelOp>();
    if (kernels.empty())
      return;
    KernelOp kernel = *kernels.begin();
    FailureOr<const Backend *> backend = findBackend(module);
    if (failed(backend))
      return signalPassFailure();
    RankLinks links = getLinks(kernel);
    KernelTextLinker linker(module, links != RankLinks::None);
    for (KernelText text : (*backend)->getKernelTexts(links))
      if (failed(linker.add(text)))
        return signalPassFailure();

    SymbolTable symbols(module);
    SmallVector<func::FuncOp> bodies;
    if (failed(lookUpBodies(kernel, symbols, bodies)))
      return signalPassFailure();
    DispatchBuilder(symbols.lookup<func::FuncOp>(abi::kRun), symbols)
        .build(bodies);
    (*backend)->buildKernelFunctions(symbols);
    buildTraced(symbols.lookup<func::FuncOp>("ark_traced"), trace);
  }

  LogicalResult lookUpBodies(KernelOp kernel, SymbolTable &symbols,
                             SmallVectorImpl<func::FuncOp> &bodies) {
    for (Attribute entry : kernel.getBodies()) {
      auto dictionary = dyn_cast<DictionaryAttr>(entry);
      auto name = dictionary ? dictionary.getAs<FlatSymbolRefAttr>("function")
                             : nullptr;
      auto function =
          name ? symbols.lookup<func::FuncOp>(name.getAttr()) : nullptr;
      if (!function || !canBeCalled(function))
        return kernel.emitOpError("has no function for body ") << entry;
      bodies.push_back(function);
    }
    return success();
  }
};
} // namespace
