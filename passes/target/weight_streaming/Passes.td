//===- Passes.td - Passes that stream weights --------------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_WEIGHT_STREAMING_PASSES_TD
#define ARK_PASSES_TARGET_WEIGHT_STREAMING_PASSES_TD

include "mlir/Pass/PassBase.td"

def StreamWeightsPass
    : Pass<"ark-stream-weights", "::mlir::ModuleOp"> {
  let summary = "Stream parameters to shared memory ahead of the work items that read them";
  let description = [{
    A product of one activation row with the rows of a parameter reads each byte of the parameter
    once, and the schedule fixes at compile time which rows a lane reads. From sm_90 on, the pass
    streams these weights through a multistage async pipeline: every warp has a ring of slots in
    shared memory (a weight ring), and issues bulk copies of chunks of parameters in the order in
    which it reads them, across tasks. Memory hence stays busy while lanes wait for each other. A
    row is cut into 1, 2, 4, 8, 16 or 32 chunks of equal size, of 512 to 2560 bytes (1280 for 8-bit
    floats), a multiple of 16; rows of other lengths are loaded without weight rings. Weights may be
    8-bit floats with a row of any float type; threads convert them to f32 in registers. Chunks of
    weights of 4 bits have at most 1024 bytes. The elements that a thread loads at once,
    16 bytes of quantized weights, must have one scale; the sum of their products is multiplied by
    this scale. Threads load the scales and zeros of the next row of weights before they wait for the
    chunks of a row. A function of each body computes the products of all vCTAs of a work item,
    and the loop over vCTAs reads the results. One loop of the function reads the chunks of all
    products, such as those of q, k and v, and their results follow each other in one temporary.
    Products with scales have a loop each. `CudaStream.mlir` contains the code that all these functions
    share.

    ```mlir
    scf.for %v = %begin to %end step %c1 {
      %w = memref.subview %arg5[%v * 16, 0] [16, 2048] [1, 1] : ...
      linalg.generic ... ins(%x, %w : memref<1x2048xbf16>, memref<16x2048xbf16, ...>) outs(%t : memref<1x16xf32>)
    }
    // =>
    func.call @ark_stream_begin_work_item(%c1_i32) : (i32) -> ()
    func.call @body_stream(%begin, %end, %x, %sums) {ark.cta_collective = 1 : i64}
        : (index, index, memref<1x2048xbf16>, memref<2x16xf32>) -> ()
    scf.for %v = %begin to %end step %c1 {
      %s0 = memref.subview %sums[0, (%v - %begin) * 16] [1, 16] [1, 1] : ...
      %s1 = memref.subview %sums[1, (%v - %begin) * 16] [1, 16] [1, 1] : ...
      linalg.generic ... ins(%s0, %s1 : memref<1x16xf32, ...>, memref<1x16xf32, ...>) outs(%t : memref<1x16xf32>)
    }
    ```

    Elements of arguments that ops after the product read, such as a residual, are loaded before the
    product. If the row and the weights have the same 16-bit float type, tensor cores multiply them:
    the registers with a thread's share of a chunk are operands of `mma` without any exchange. They
    also multiply a 16-bit row by quantized weights, which threads widen to its type, if the four
    threads that hold a row of operand A load elements with one scale.

    The rate of copies for later work items is limited, because signals and activations queue behind
    copies. If lanes poll for LL packets, a work item sends its own packets before it issues more
    copies, and weight rings have fewer slots: additional copies would not complete before the
    packets arrive, and packets would queue behind the copies. A lane with full weight rings
    prefetches the same number of chunks into the L2. If an average work item fits into the weight
    rings, no chunks are prefetched and copies are issued at a higher rate: the weight rings have to
    be refilled between work items, and memory bandwidth suffices.
  }];
  let options = [
    Option<"maxDepth", "max-depth", "int64_t", /*default=*/"5",
           "Maximum number of slots per warp; 0 disables streaming">,
    Option<"pollingDepth", "polling-depth", "int64_t", /*default=*/"4",
           "Maximum number of slots per warp if lanes poll for LL packets">,
    Option<"pace", "pace", "int64_t", /*default=*/"130",
           "Clock cycles between two copies of an SM for later work items">,
    Option<"shortPace", "short-pace", "int64_t", /*default=*/"65",
           "Clock cycles between two copies if an average work item fits into the weight rings">,
    Option<"tableBytes", "table-bytes", "int64_t", /*default=*/"16384",
           "Bytes of shared memory reserved for the kernel's tables">,
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
