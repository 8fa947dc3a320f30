//===- Passes.td - Passes that stream weights --------------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_WEIGHT_STREAMING_PASSES_TD
#define ARK_PASSES_TARGET_WEIGHT_STREAMING_PASSES_TD

include "mlir/Pass/PassBase.td"

def StreamWeightsPass
    : Pass<"ark-stream-weights", "::mlir::ModuleOp"> {
  let summary = "Stream parameters to shared memory ahead of the runs that read them";
  let description = [{
    A product of one row with rows of a parameter, of which every vCTA has its own, reads each byte
    once, and the schedule says at compile time which rows a lane reads. From sm_90 on, the pass
    streams these weights through a multistage async pipeline: every warp has a ring of slots in
    shared memory, and issues bulk copies of pieces of parameters in the order in which it reads
    them, across tasks. So memory stays busy while lanes wait for each other. A row is cut into 1, 2,
    4, 8, 16 or 32 pieces of equal size, of 512 to 2048 bytes (1024 for 8-bit floats), a multiple of
    16; rows that cannot be cut so are loaded without rings. Weights may be 8-bit
    floats, whatever the type of the row is; threads widen them when they multiply. A function of
    each body computes the products of all vCTAs of a run, and the loop over vCTAs reads the
    results. `CudaStream.mlir` has the code that all such functions share.

    ```mlir
    scf.for %v = %begin to %end step %c1 {
      %w = memref.subview %arg5[%v * 16, 0] [16, 2048] [1, 1] : ...
      linalg.generic ... ins(%x, %w : memref<1x2048xbf16>, memref<16x2048xbf16, ...>) outs(%t : memref<1x16xf32>)
    }
    // =>
    func.call @ark_stream_run(%c1_i32) : (i32) -> ()
    func.call @body_stream(%begin, %end, %x, %sums) {ark.cta_collective = 1 : i64} : (index, index, memref<1x2048xbf16>, memref<2x16xf32>) -> ()
    scf.for %v = %begin to %end step %c1 {
      %s0 = memref.subview %sums[0, (%v - %begin) * 16] [1, 16] [1, 1] : ...
      %s1 = memref.subview %sums[1, (%v - %begin) * 16] [1, 16] [1, 1] : ...
      linalg.generic ... ins(%s0, %s1 : memref<1x16xf32, ...>, memref<1x16xf32, ...>) outs(%t : memref<1x16xf32>)
    }
    ```

    Elements of arguments that ops after the product read, such as a residual, are loaded before the
    product. If row and weights are 16-bit floats of one type, tensor cores multiply them: the
    registers into which a thread has loaded a piece are operands of `mma` as they are.

    Copies ahead of their run are paced, since signals and activations queue behind them. If lanes
    poll for LL packets, a run sends its own packets before it issues more copies, and rings have
    fewer slots: packets arrive before more slots would be full, and would queue behind the copies.
    A lane whose rings are full prefetches as many pieces again to the L2. If runs read no more than
    the rings hold, on the average, there is no such prefetch and copies are issued faster: the
    rings have to be filled between runs, and memory has time for that.
  }];
  let options = [
    Option<"maxDepth", "max-depth", "int64_t", /*default=*/"5",
           "Slots of a warp, at most; 0: do not stream">,
    Option<"pollingDepth", "polling-depth", "int64_t", /*default=*/"4",
           "The same where lanes poll for packets">,
    Option<"pace", "pace", "int64_t", /*default=*/"130",
           "Clocks between two pieces that an SM asks for ahead of their run">,
    Option<"shortPace", "short-pace", "int64_t", /*default=*/"65",
           "The same where runs read no more than rings hold, on the average">,
    Option<"tableBytes", "table-bytes", "int64_t", /*default=*/"16384",
           "Shared memory that is left to the kernel's tables">,
  ];
  let statistics = [
    Statistic<"numProducts", "products", "Products whose parameters are streamed">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

#endif // ARK_PASSES_TARGET_WEIGHT_STREAMING_PASSES_TD
