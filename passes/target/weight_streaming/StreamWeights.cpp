//===- StreamWeights.cpp - Streams weights through shared memory ----------===//

#include "passes/target/memory_access/SharedMemory.h"
#include "passes/target/support/Bodies.h"
#include "passes/target/tables/KernelTables.h"
#include "passes/target/tables/KernelTemplate.h"
#include "passes/target/weight_streaming/Passes.h"
#include "passes/target/weight_streaming/StreamReader.h"
#include "passes/target/weight_streaming/WeightStreams.h"

#include "lib/support/BufferView.h"
#include "passes/kernel/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_STREAMWEIGHTSPASS
#include "passes/target/weight_streaming/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Upper bound of the elements of an early read: one per thread.
static constexpr int64_t kMaxEarlyElements = 512;
static constexpr int64_t kWarpStateBytes = 4 * abi::kRingWords;
static constexpr int64_t kLaneStateBytes = 64;
static constexpr int64_t kBarrierBytes = 8;
static constexpr int64_t kSegmentBytes = 8 * abi::kSegmentWords;
/// Lower bound of the number of slots of a ring.
static constexpr int64_t kMinDepth = 2;

static constexpr llvm::StringLiteral kSegments = "ark_stream_segment_table";

namespace {
/// The streamed products of a body.
struct StreamedBody {
  func::FuncOp body;
  SmallVector<WeightStream> streams;
};

/// Byte offsets of the data of the rings in shared memory, number of slots per
/// ring, and bytes of a slot.
struct RingLayout {
  int64_t inWarp = 0, warps = 0, barriers = 0, table = 0, slots = 0, end = 0;
  int64_t depth = 0, slotBytes = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

namespace {
/// Moves the products of a body out of its loop over vCTAs: a function computes
/// the products of all vCTAs of a work item, and the loop reads the results.
class StreamRewriter {
public:
  StreamRewriter(const StreamedBody &streamed, int64_t longestWorkItem)
      : body(streamed.body), streams(streamed.streams),
        longestWorkItem(longestWorkItem),
        builder(body.getLoc(), body.getContext()) {}

  void rewrite();

private:
  /// A buffer of partial sums, and the first row of a product in it; null for
  /// row 0.
  struct PartialSums {
    Value buffer, first;
  };

  Value createBuffer(MemRefType type);
  Value getFirstRow(int64_t rowsPerVcta);
  SmallVector<PartialSums> createPartialSums();
  void readPartialSums(const WeightStream &stream, const PartialSums &sums);
  SmallVector<EarlyRead> readEarly();

  func::FuncOp body;
  ArrayRef<WeightStream> streams;
  int64_t longestWorkItem;
  ImplicitLocOpBuilder builder;
};
} // namespace

Value StreamRewriter::createBuffer(MemRefType type) {
  builder.setInsertionPointToStart(&body.getBody().front());
  return memref::AllocaOp::create(
      builder, type, builder.getI64IntegerAttr(abi::kGpuBufferAlignment));
}

/// Returns the first row of the current vCTA, counted from the first row of the
/// work item.
Value StreamRewriter::getFirstRow(int64_t rowsPerVcta) {
  Value vcta = getVctaLoop(body).getInductionVar();
  Value before =
      arith::SubIOp::create(builder, vcta, body.getArgument(abi::kBodyBegin));
  return arith::MulIOp::create(
      builder, before, arith::ConstantIndexOp::create(builder, rowsPerVcta));
}

/// Replaces a product by `out[0, n] += partialSums[w, n]`, summed over w,
/// the warps that share a row.
void StreamRewriter::readPartialSums(const WeightStream &stream,
                                     const PartialSums &partialSums) {
  linalg::GenericOp product = stream.product;
  builder.setInsertionPoint(product);
  Value first = getFirstRow(stream.rowsPerVcta);
  if (partialSums.first)
    first = arith::AddIOp::create(builder, first, partialSums.first);
  auto tile = product.getInputs()[1].getDefiningOp<memref::SubViewOp>();
  OpFoldResult rows = tile.getMixedSizes()[0];
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<Value> sums;
  for (int64_t warp = 0; warp < stream.getWarpsPerRow(); ++warp)
    sums.push_back(memref::SubViewOp::create(
        builder, partialSums.buffer,
        SmallVector<OpFoldResult>{builder.getIndexAttr(warp), first},
        SmallVector<OpFoldResult>{one, rows},
        SmallVector<OpFoldResult>{one, one}));
  SmallVector<AffineMap> maps(sums.size() + 1,
                              builder.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  linalg::GenericOp::create(
      builder, sums, product.getDpsInits(), maps, loops,
      [](OpBuilder &nested, Location loc, ValueRange values) {
        Value sum = values.front();
        for (Value value : values.drop_front())
          sum = arith::AddFOp::create(nested, loc, sum, value);
        linalg::YieldOp::create(nested, loc, sum);
      });
  product.erase();
}

/// Replaces tiles that ops after the products read, such as a residual, by
/// copies that are loaded before the products.
SmallVector<EarlyRead> StreamRewriter::readEarly() {
  SmallVector<EarlyRead> reads;
  scf::ForOp vctas = getVctaLoop(body);
  for (auto op : vctas.getBody()->getOps<linalg::GenericOp>())
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto tile = operand->get().getDefiningOp<memref::SubViewOp>();
      std::optional<EarlyRead> read;
      if (tile && isUnchangedBefore(op, tile, vctas))
        read = matchEarlyRead(tile, vctas);
      if (!read || longestWorkItem * read->elementsPerVcta > kMaxEarlyElements)
        continue;
      auto source = cast<MemRefType>(read->source.getType());
      int64_t size = std::min(longestWorkItem * read->elementsPerVcta,
                              source.getDimSize(1));
      read->copy =
          createBuffer(MemRefType::get({1, size}, source.getElementType()));
      builder.setInsertionPoint(op);
      OpFoldResult zero = builder.getIndexAttr(0),
                   one = builder.getIndexAttr(1);
      operand->set(memref::SubViewOp::create(
          builder, read->copy,
          SmallVector<OpFoldResult>{zero, getFirstRow(read->elementsPerVcta)},
          tile.getMixedSizes(), SmallVector<OpFoldResult>{one, one}));
      reads.push_back(*read);
    }
  return reads;
}

/// Creates the buffers of partial sums. Products that one loop reads share a
/// buffer, in which the rows of a work item follow those of the product before.
SmallVector<StreamRewriter::PartialSums> StreamRewriter::createPartialSums() {
  auto getRows = [&](const WeightStream &stream) {
    return std::min(longestWorkItem * stream.rowsPerVcta, stream.getNumRows());
  };
  auto create = [&](int64_t rows) {
    return createBuffer(MemRefType::get(
        {streams.front().getWarpsPerRow(), rows}, builder.getF32Type()));
  };
  if (!StreamReader::readsAtOnce(streams))
    return llvm::map_to_vector(streams, [&](const WeightStream &stream) {
      return PartialSums{create(getRows(stream)), {}};
    });
  int64_t rows = 0;
  for (const WeightStream &stream : streams)
    rows += getRows(stream);
  SmallVector<PartialSums> all = {{create(rows), {}}};
  builder.setInsertionPoint(getVctaLoop(body));
  for (const WeightStream &stream : streams.drop_back()) {
    Value first = getNumRows(builder, stream, body.getArgument(abi::kBodyBegin),
                             body.getArgument(abi::kBodyEnd));
    if (all.back().first)
      first = arith::AddIOp::create(builder, all.back().first, first);
    all.push_back({all.front().buffer, first});
  }
  return all;
}

void StreamRewriter::rewrite() {
  SmallVector<PartialSums> partialSums = createPartialSums();
  scf::ForOp vctas = getVctaLoop(body);
  llvm::SmallSetVector<Value, 4> buffers;
  for (auto [stream, sums] : llvm::zip(streams, partialSums)) {
    readPartialSums(stream, sums);
    buffers.insert(sums.buffer);
  }
  SmallVector<EarlyRead> reads = readEarly();
  StreamReader reader(body, streams, reads, buffers.getArrayRef());
  func::FuncOp function = reader.createFunction();
  builder.setInsertionPoint(vctas);
  auto call = func::CallOp::create(builder, function, reader.getOperands());
  setCtaCollective(call, reads.size() + buffers.size());

  builder.setInsertionPointToStart(&body.getBody().front());
  Value count = arith::ConstantIntOp::create(builder, streams.size(), 32);
  func::CallOp::create(builder, "ark_stream_begin_work_item", TypeRange(),
                       ValueRange{count});
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

namespace {
/// The segments of all lanes, in the order in which the lanes read them. A
/// segment is one product of one work item: its first row and its number of
/// chunks.
class SegmentTable {
public:
  SegmentTable(KernelOp kernel, ArrayRef<StreamedBody> bodies);

  int64_t getLongestLane() const { return longest; }
  /// Returns the average number of chunks of a work item.
  int64_t getChunksPerWorkItem() const {
    return workItems ? allChunks / workItems : 0;
  }
  /// Returns the number of words before the first segment.
  int64_t getFirst() const { return first; }
  /// Creates the table whose layout CudaRing.mlir describes.
  LLVM::GlobalOp create(ModuleOp module) const;

private:
  void add(KernelOp kernel, const LaneWorkItem &workItem,
           ArrayRef<WeightStream> streams);

  SmallVector<int64_t> begins, words;
  int64_t longest = 0, first = 0, allChunks = 0, workItems = 0;
};
} // namespace

void SegmentTable::add(KernelOp kernel, const LaneWorkItem &workItem,
                       ArrayRef<WeightStream> streams) {
  int64_t dealt = 0;
  for (const WeightStream &stream : streams) {
    int64_t operand = stream.parameter.getArgNumber() - abi::kBodyOperands;
    OperandAddress address =
        getOperandAddress(kernel, workItem.firstOperand + operand);
    int64_t rowBytes = stream.chunksPerRow * stream.chunkBytes;
    int64_t chunks = stream.getNumChunks(workItem.begin, workItem.end);
    words.push_back(address.slot);
    words.push_back(address.offset +
                    workItem.begin * stream.rowsPerVcta * rowBytes);
    words.push_back(chunks | stream.chunkBytes << abi::kSegmentBytesShift |
                    (dealt % kStreamWarps) << abi::kSegmentWarpShift);
    dealt += chunks;
  }
  allChunks += dealt;
  ++workItems;
}

SegmentTable::SegmentTable(KernelOp kernel, ArrayRef<StreamedBody> bodies) {
  llvm::DenseMap<int32_t, ArrayRef<WeightStream>> streams;
  for (auto [index, entry] : llvm::enumerate(kernel.getBodies())) {
    auto name =
        cast<DictionaryAttr>(entry).getAs<FlatSymbolRefAttr>("function");
    for (const StreamedBody &streamed : bodies)
      if (func::FuncOp body = streamed.body;
          name && name.getValue() == body.getSymName())
        streams[index] = streamed.streams;
  }
  for (ArrayRef<LaneWorkItem> inWarp : getLaneWorkItems(kernel)) {
    int64_t begin = words.size() / abi::kSegmentRecordWords;
    begins.push_back(begin);
    for (const LaneWorkItem &workItem : inWarp)
      if (auto found = streams.find(workItem.body); found != streams.end())
        add(kernel, workItem, found->second);
    longest = std::max<int64_t>(
        longest, words.size() / abi::kSegmentRecordWords - begin);
  }
  begins.push_back(words.size() / abi::kSegmentRecordWords);
  first = begins.size();
}

LLVM::GlobalOp SegmentTable::create(ModuleOp module) const {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<int64_t> all(begins);
  llvm::append_range(all, words);
  int64_t size = all.size();
  Type i64 = builder.getI64Type();
  auto value = DenseElementsAttr::get(RankedTensorType::get({size}, i64),
                                      ArrayRef<int64_t>(all));
  return LLVM::GlobalOp::create(
      builder, module.getLoc(), LLVM::LLVMArrayType::get(i64, size),
      /*isConstant=*/true, LLVM::Linkage::Internal, kSegments, value,
      /*alignment=*/8, /*addrSpace=*/1);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

namespace {
struct StreamWeightsPass : ark::impl::StreamWeightsPassBase<StreamWeightsPass> {
  using StreamWeightsPassBase::StreamWeightsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    if (!target || !canCopy(target) || maxDepth < kMinDepth)
      return;
    for (auto kernel : module.getOps<KernelOp>())
      stream(kernel, target.getSharedMemory());
  }

private:
  static bool canCopy(TargetAttr target);
  SmallVector<StreamedBody> findBodies(KernelOp kernel);
  int64_t getTemporaryBytes(ArrayRef<StreamedBody> bodies,
                            ArrayRef<int64_t> longestWorkItems);
  RingLayout layOut(ArrayRef<StreamedBody> bodies, int64_t segments,
                    int64_t bytes);
  void complete(const RingLayout &layout, const SegmentTable &table);
  void stream(KernelOp kernel, int64_t sharedMemory);
};
} // namespace

/// Returns true if the target can stream parameters. The ring code requires
/// `kStreamWarps` warps per CTA; with any other number of warps, threads load
/// parameters directly.
bool StreamWeightsPass::canCopy(TargetAttr target) {
  return target.hasCopy(CopyKind::Bulk) && target.getWarps() == kStreamWarps;
}

SmallVector<StreamedBody> StreamWeightsPass::findBodies(KernelOp kernel) {
  SmallVector<StreamedBody> bodies;
  for (func::FuncOp body : getBodies(getOperation()))
    if (SmallVector<WeightStream> streams = findWeightStreams(kernel, body);
        !streams.empty())
      bodies.push_back({body, std::move(streams)});
  return bodies;
}

/// Returns the largest size of the temporaries of any body, including the sums
/// of streamed bodies.
int64_t
StreamWeightsPass::getTemporaryBytes(ArrayRef<StreamedBody> bodies,
                                     ArrayRef<int64_t> longestWorkItems) {
  int64_t most = 0;
  for (func::FuncOp body : getBodies(getOperation())) {
    int64_t bytes = 0;
    auto add = [&](int64_t more) {
      bytes = llvm::alignTo(bytes + more, kSharedAlignment);
    };
    // The offset behind the rings is arbitrary, so that a temporary may need
    // padding of up to its alignment.
    body.walk([&](memref::AllocaOp op) {
      add(getBufferBytes(op.getType()) + getSharedAlignment(op) -
          kSharedAlignment);
    });
    for (auto [streamed, longest] : llvm::zip(bodies, longestWorkItems))
      if (streamed.body == body)
        for (const WeightStream &stream : streamed.streams)
          add(std::min(longest * stream.rowsPerVcta, stream.getNumRows()) *
              (stream.getWarpsPerRow() + 1) * sizeof(float));
    most = std::max(most, bytes);
  }
  return most;
}

/// Returns true if threads of this kernel poll for LL packets.
static bool polls(ModuleOp module) {
  auto poll = module.lookupSymbol<func::FuncOp>("ark_packets_poll");
  return poll && !SymbolTable::symbolKnownUseEmpty(poll, module);
}

/// Lays out the rings. Each ring gets as many slots for the largest chunk as
/// fit into shared memory.
RingLayout StreamWeightsPass::layOut(ArrayRef<StreamedBody> bodies,
                                     int64_t segments, int64_t bytes) {
  RingLayout layout;
  for (const StreamedBody &streamed : bodies)
    for (const WeightStream &stream : streamed.streams)
      layout.slotBytes = std::max<int64_t>(
          layout.slotBytes, llvm::alignTo(stream.chunkBytes, kSharedAlignment));
  layout.warps = kLaneStateBytes;
  layout.barriers = layout.warps + kStreamWarps * kWarpStateBytes;
  int64_t most = polls(getOperation()) ? pollingDepth : maxDepth;
  layout.table = layout.barriers + kStreamWarps * most * kBarrierBytes;
  layout.slots =
      llvm::alignTo(layout.table + segments * kSegmentBytes, kSharedAlignment);
  int64_t bytesPerSlot = kStreamWarps * layout.slotBytes;
  layout.depth = std::min<int64_t>((bytes - layout.slots) / bytesPerSlot, most);
  layout.end = layout.slots + std::max<int64_t>(layout.depth, 0) * bytesPerSlot;
  return layout;
}

void StreamWeightsPass::complete(const RingLayout &layout,
                                 const SegmentTable &table) {
  ModuleOp module = getOperation();
  LLVM::GlobalOp memory = getSharedMemory(module);
  LLVM::GlobalOp segments = table.create(module);
  KernelTemplate kernelTemplate(module);
  kernelTemplate.defineAddress("ark_stream_lane", memory, layout.inWarp);
  kernelTemplate.defineAddress("ark_stream_warps", memory, layout.warps);
  kernelTemplate.defineAddress("ark_stream_barriers", memory, layout.barriers);
  kernelTemplate.defineAddress("ark_stream_table", memory, layout.table);
  kernelTemplate.defineAddress("ark_stream_slots", memory, layout.slots);
  kernelTemplate.defineAddress("ark_stream_segments", segments, 0);
  kernelTemplate.defineConstant("ark_stream_first_segment", table.getFirst());
  kernelTemplate.defineConstant("ark_stream_depth", layout.depth);
  kernelTemplate.defineConstant("ark_stream_slot_bytes", layout.slotBytes);
  bool areShort = table.getChunksPerWorkItem() <= kStreamWarps * layout.depth;
  kernelTemplate.defineConstant("ark_stream_request_interval",
                                areShort ? shortPace : pace);
  kernelTemplate.defineConstant("ark_stream_prefetch_depth",
                                areShort ? 0 : layout.depth);
  kernelTemplate.defineConstant("ark_stream_polls", polls(module));
  if (polls(module))
    kernelTemplate.setCallee("ark_end_work_item", "ark_stream_end_work_item");
  kernelTemplate.setCallee("ark_begin_stream", "ark_stream_begin");
  kernelTemplate.setCallee("ark_end_stream", "ark_stream_end");
  kernelTemplate.setCallee("ark_begin_wait", "ark_stream_before_wait");
  kernelTemplate.setCallee("ark_end_wait", "ark_stream_after_wait");
  kernelTemplate.setCallee("ark_idle", "ark_stream_during_wait");
  kernelTemplate.setCallee("ark_poll", "ark_stream_poll");
  if (kernelTemplate.failed())
    signalPassFailure();
}

void StreamWeightsPass::stream(KernelOp kernel, int64_t sharedMemory) {
  SmallVector<StreamedBody> bodies = findBodies(kernel);
  if (bodies.empty() || !KernelTemplate(getOperation()).has("ark_stream_begin"))
    return;
  auto longestWorkItems =
      llvm::map_to_vector(bodies, [&](const StreamedBody &streamed) {
        return getLongestWorkItem(kernel, streamed.body);
      });
  SegmentTable table(kernel, bodies);
  int64_t others = getTemporaryBytes(bodies, longestWorkItems) + tableBytes;
  RingLayout layout =
      layOut(bodies, table.getLongestLane(), sharedMemory - others);
  if (layout.depth < kMinDepth)
    return;
  for (auto [streamed, longest] : llvm::zip(bodies, longestWorkItems)) {
    StreamRewriter(streamed, longest).rewrite();
    numProducts += streamed.streams.size();
  }
  complete(layout, table);
  setSharedBytes(kernel, layout.end);
}
