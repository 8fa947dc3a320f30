//===- CudaPasses.td - Passes for NVIDIA GPUs alone --------*- tablegen -*-===//
//
// CudaLowering.cpp gives the order in which these passes run. Passes.td includes this file.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_CUDAPASSES_TD
#define ARK_PASSES_TARGET_CUDAPASSES_TD

include "mlir/Pass/PassBase.td"

def AskForKeysPass : Pass<"ark-ask-for-keys", "::mlir::ModuleOp"> {
  let summary = "Prefetch keys and values to the L2 before packets are polled";
  let description = [{
    An attention polls for the LL packets of its query, and only then loads keys and values from
    memory. All keys and values that earlier steps wrote are in memory before the query arrives. So
    threads prefetch lines of keys and values to the L2 before they poll. The ops that compute the
    number of keys move before the prefetches.

    The pass takes every matrix whose number of rows is known only at run time for keys or values.

    ```mlir
    ark.receive_packets %x to %q : memref<2x128xi32, ...> to memref<2x128xbf16>
    %keys = memref.subview %cache[0, 0] [%length, 128] [1, 1] : ...
    linalg.generic ... ins(%q, %keys : ...)
    // =>
    %keys = memref.subview %cache[0, 0] [%length, 128] [1, 1] : ...
    scf.forall (%thread) in (512) {
      llvm.inline_asm "prefetch.global.L2 [$0];" %line_of_keys
    } {mapping = [#gpu.thread<linear_dim_0>]}
    ark.receive_packets %x to %q : memref<2x128xi32, ...> to memref<2x128xbf16>
    linalg.generic ... ins(%q, %keys : ...)
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numAsked", "asked", "Keys, or values, that are asked for">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def WarpChainsPass : Pass<"ark-warp-chains", "::mlir::ModuleOp"> {
  let summary = "Fuse consecutive ops on a row, with a warp for each row";
  let description = [{
    A norm that feeds other ops, such as the norms of query and key heads before their rotation and
    attention, is several loops with a barrier between each two of them. If consecutive ops of a
    vCTA read nothing but their own row, and at least one of them reduces the row, one warp computes
    all of them for a row. Lane `i` has the columns `i`, `i + 32`, and so on. All loads come first.
    Intermediate values stay in registers unless other ops read them. If an op reads other columns
    of its row, the warp computes the values of these columns once more.

    The pass leaves chains with more rows than warps, chains with rows of more than 256 columns, and
    blocks in which chains would be all ops.

    ```mlir
    linalg.generic ... ins(%x : memref<2x128xbf16, ...>) outs(%sum : memref<2xf32>)
    linalg.generic ... outs(%sum : memref<2xf32>)
    linalg.generic ... ins(%x, %sum, %g : ...) outs(%norm : memref<2x128xbf16>)
    linalg.generic ... ins(%left_of_norm, %right_of_norm, %cos, %sin : ...) outs(%left : memref<2x64xbf16, ...>)
    linalg.generic ... ins(%right_of_norm, %left_of_norm, %cos, %sin : ...) outs(%right : memref<2x64xbf16, ...>)
    // =>
    scf.forall (%thread) in (512) {
      ... memref.load %x ... memref.load %g ... gpu.shuffle xor ... math.rsqrt ...
      memref.store ..., %left[%row, %lane] ... memref.store ..., %right[%row, %lane]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numRows", "rows", "Rows that warps make">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def FlashAttentionPass : Pass<"ark-flash-attention", "::mlir::ModuleOp"> {
  let summary = "Compute attention in one pass over the keys";
  let description = [{
    Rewrites the ops of `ark.attention` and `ark.partial_attention` in a body as one pass over the
    keys (online softmax). The ops are scores, their softmax and the weighted sum of values, of bf16
    or f16, for query rows that share keys. Each op would be a loop of its own, which ends in a
    barrier and goes through shared memory. In the fused loop a warp takes 16 or 32 keys a step. The
    warp keeps in registers the maximum score of each row, and the sum of exponentials and the
    weighted sum of values relative to that maximum. Tensor cores compute both products.

    Up to 8 rows: the steps are dealt to all warps. The first product is queries by keys. The second
    one is values by exponentials, with rows of queries as its columns, so that a lane already has
    the exponentials that it needs. Each exponential enters the second product as a sum of two or
    three numbers of the values' type, whose products are exact. A second loop combines the partial
    results of the warps, always in the same order, and computes the elementwise ops that follow.

    More rows: they are divided into blocks of 16. The rows of a block are the rows of both
    products. If there are more warps than blocks, several warps share a block, and each of them
    takes a part of the keys. Alternatively, if a run has several vCTAs, teams of warps take these
    vCTAs in turn, without a barrier between them. A warp that has all keys of its rows also
    computes the elementwise ops that follow.

    A key beyond the length contributes nothing, whatever its memory holds. Masks, and the results
    of rows without any key, are those of the original ops. Other results differ from those of the
    original ops by rounding only.

    The pass leaves ops in another order, head sizes of more than 128, in blocks of 16 rows also
    head sizes that are no multiple of 16, rows that are not aligned to 16 bytes, and attentions
    that would need more than 40 KB of shared memory. If no run has two such vCTAs, and only
    elementwise ops are left beside the attention, the body of the loop over vCTAs replaces the
    loop.

    ```mlir
    linalg.generic ... ins(%q, %k : memref<4x64xbf16>, memref<?x64xbf16, ...>) outs(%s : memref<4x?xf32, ...>)
    ... // mask, maximum, exp, sum
    linalg.generic ... ins(%s, %v : ...) outs(%t : memref<4x64xf32>)
    linalg.generic ... ins(%r, %t : memref<4xf32>, memref<4x64xf32>) outs(%y : memref<4x64xbf16, ...>)
    // =>
    scf.forall (%thread) in (512) {
      scf.for %key = ... { ... vector.load %k ... nvvm.mma.sync ... math.exp ... nvvm.mma.sync ... }
      memref.store ..., %maxima[...] ... %sums[...] ... vector.store ..., %products[...]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.forall (%thread) in (512) { ... memref.store ..., %y[...] }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numAttentions", "attentions", "Attentions done in one pass">,
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect",
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def ReceivePacketsPass : Pass<"ark-receive-packets", "::mlir::ModuleOp"> {
  let summary = "Poll for LL packets with all threads of a CTA";
  let description = [{
    Each thread loads four packets at once, or two packets of f32, and repeats loads until all
    packets carry the epoch of this iteration. While loads are in flight, the first thread of every
    warp issues copies of parameters that later runs read, and checks for a timeout at intervals.
    The received values are stored to a temporary. Receives that follow each other become one loop.

    ```mlir
    ark.receive_packets %x to %values : memref<1x2048xi32> to memref<1x2048xbf16>
    // =>
    call @ark_receive_bf16_2048_2048(%address, %values) {ark.cooperative = 1 : i64}
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numReceived", "received", "Places at which packets are received">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def UseTensorCoresPass : Pass<"ark-use-tensor-cores", "::mlir::ModuleOp"> {
  let summary = "Multiply matrices with tensor cores";
  let description = [{
    Rewrites products of a tile of activations, 2 to 128 rows, with up to 128 rows of a weight. Both
    operands are bf16 or f16 and contiguous along K; accumulators are f32. A thread loads 16 bytes
    of a row at once, which serve two `mma` instructions. A and B use the same permuted K order, so
    that the sum is unchanged. As soon as a load has been used, the thread issues the load of a
    later step. Either operand may be an 8-bit float. Of such an operand a thread loads 8 bytes, and
    widens them when it multiplies: to the type of the other operand, or to f16 if both operands are
    8-bit floats.

    Up to 16 rows of activations: a warp has all of them, with 16 rows of weights and a part of K
    (split-K). Products of the same activations in one vCTA share a loop. The loads of weights fetch
    whole lines, which are cached in the L2 only. If shared memory allows it, K is split into so
    many parts that a warp issues all loads of its part at once. The warps then need several
    iterations over the rows of weights, whole rows are in flight at a time, and while the warps
    multiply the rows of one iteration, the loads of the next one are in flight.

    More rows of activations: a warp has 32 of them, with 32 rows of one weight or 16 rows of each
    of two weights, or fewer rows if only that fits the warps and the memory. Whole tiles go through
    shared memory: the threads copy the next stages with `cp.async` while the warps multiply. If K
    is split among warps, a reduction adds up the parts, always in the same order. Without memory
    for the parts, K is not split, and the product is added to the result directly.

    On sm_90a, warpgroups (four warps) multiply whole tiles of 64 rows and more straight from shared
    memory with `wgmma`. A tile has up to 128 by 256 or 256 by 128 elements, or half of it for two
    products. K must be a multiple of 64. Operands go through shared memory in stages of 64 elements
    a row, in the swizzled layout that `wgmma` reads. All threads copy with `cp.async`, two stages
    ahead. For tiles of 256 by 128 with K of at most 2048, where TMA copies are faster, one thread
    for each operand issues `cp.async.bulk.tensor` instead. TMA copies need operands that are rows
    of one matrix, with a pitch that is a multiple of 16 bytes. In the end the accumulators are
    stored to the memory of the stages, which replaces the temporary of the product.

    Loads of rows beyond the end read the last row again; elements beyond the end of K are zero. The
    pass leaves products with unaligned rows and products of other types.

    ```mlir
    linalg.generic ... ins(%x, %w : memref<8x2048xbf16>, memref<16x2048xbf16, strided<...>>) outs(%t : memref<8x16xf32>)
    // =>
    %parts = memref.alloca() : memref<16x8x20xf32>
    scf.forall (%thread) in (512) {
      ... llvm.inline_asm "ld.global.L1::no_allocate.L2::128B.v4.b32 ..." %w ... vector.load %x ...
      nvvm.mma.sync A[...] B[...] C[...] ...
      memref.store %sum, %parts[%part, %m, %n]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    linalg.generic ... ins(%parts_view : memref<16x8x16xf32, strided<...>>) outs(%t : memref<8x16xf32>)
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"allTensorMaps", "all-tensor-maps", "bool", /*default=*/"false",
           "Copy by tensor maps wherever that is possible, not only where it is faster">,
  ];
  let statistics = [
    Statistic<"numProducts", "products", "Products done by tensor cores">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def StreamParametersPass
    : Pass<"ark-stream-parameters", "::mlir::ModuleOp"> {
  let summary = "Stream parameters to shared memory ahead of the runs that read them";
  let description = [{
    A product of one row with rows of a parameter, of which every vCTA has its own, reads each byte
    once, and the schedule says at compile time which rows a lane reads. From sm_90 on, the pass
    streams these weights through a multistage async pipeline: every warp has a ring of slots in
    shared memory, and issues bulk copies of pieces of parameters in the order in which it reads
    them, across tasks. So memory stays busy while lanes wait for each other. Weights may be 8-bit
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
    func.call @body_stream(%begin, %end, %x, %sums) {ark.cooperative = 1 : i64} : (index, index, memref<1x2048xbf16>, memref<2x16xf32>) -> ()
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

def BuildTensorMapsPass : Pass<"ark-build-tensor-maps", "::mlir::ModuleOp"> {
  let summary = "Build the tensor maps of a lane's tasks inside of the kernel";
  let description = [{
    `ark-use-tensor-cores` records in the bodies which operands are copied by TMA. This pass writes
    two tables. The first one has the number of the first tensor map of every task. The second one
    has, for every map, the buffer and offset of its operand, its extents and its stride. Each lane
    makes its own maps from the tables when it begins (`CudaTensorMaps.mlir`), with the addresses of
    this launch, so that nothing outside of the kernel knows of them.

    ```mlir
    ark.kernel @k { ..., operands = dense<[[1, 0], [2, 0], [3, 0]]> : tensor<3x2xi64>, task_table = dense<0> : tensor<1x2xi32> }
    func.func private @body(...) attributes {ark.tensor_maps = [array<i64: 0, 4096, 4096, 4096, 256>, ...]}
    // =>
    llvm.mlir.global internal constant @ark_tensor_map_rows_table(dense<0> : tensor<1xi32>) {addr_space = 4}
    llvm.mlir.global internal constant @ark_tensor_map_records_table(dense<[1, 0, 4096, 4096, 8192, 256, ...]> : tensor<12xi64>) {addr_space = 1}
    llvm.mlir.global internal @ark_tensor_maps_memory(#llvm.zero) {addr_space = 1, alignment = 128} : !llvm.array<33792 x i8>
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numMaps", "maps", "Tensor maps of a lane">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect"
  ];
}

def AskForTilesPass : Pass<"ark-ask-for-tiles", "::mlir::ModuleOp"> {
  let summary = "Prefetch weight tiles to the L2 before activations arrive";
  let description = [{
    A tensor-core product loads its weights once its activations have arrived. The weights that a
    run reads first are known earlier. So threads prefetch up to 32 KB of each tile of 64 KB and
    more that the first vCTA reads to the L2: lines spread over all rows of the tile. Memory is busy
    then while packets are polled and norms are computed.

    A run that receives LL packets prefetches before it polls. The weights of a run that follows a
    wait are prefetched before the wait: `ark_ask` is a copy of `ark_run` that calls prefetch
    functions in the place of bodies, and the wait calls it for the run that follows (CudaAsk.mlir).
    Parameters that go through rings need no prefetch.

    ```mlir
    ark.receive_packets %x to %rows : memref<8x2048xi32, ...> to memref<8x2048xbf16>
    scf.for %v = %begin to %end step %c1 {
      %tile = memref.subview %w[%first, 0] [16, 2048] [1, 1] : ...
      scf.forall (%thread) in (512) { ... vector.load %tile ... nvvm.mma.sync ... }
    }
    // =>
    scf.forall (%thread) in (512) {
      llvm.inline_asm "prefetch.global.L2 [$0];" %line_of_first_tile
    } {mapping = [#gpu.thread<linear_dim_0>]}
    ark.receive_packets %x to %rows : memref<8x2048xi32, ...> to memref<8x2048xbf16>
    scf.for %v = %begin to %end step %c1 { ... }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numAsked", "asked", "Tiles that are asked for">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def WarpRowsPass : Pass<"ark-warp-rows", "::mlir::ModuleOp"> {
  let summary = "Fuse the ops that make rows for all vCTAs of a run, with warps for each row";
  let description = [{
    Each op before the loop over vCTAs ends in a barrier, and each op of a norm loads the rows
    again. If such ops make rows, `memref<MxK>`, of the body's arguments, one or several warps make
    each row instead, with all loads at once (prologue fusion). Each warp reduces and writes its
    part of the row. Reductions over a whole row go through shared memory, with one barrier. If rows
    arrive as LL packets, and nothing else reads them, each thread receives its own part, after it
    has issued all other loads.

    The pass leaves more rows than there are warps, rows whose length is no multiple of what the
    threads of a warp load at once, and rows that are longer than the registers of their threads
    hold.

    ```mlir
    linalg.generic ... ins(%x : memref<8x2048xbf16>) outs(%sum : memref<8xf32>)
    linalg.generic ... outs(%sum : memref<8xf32>)
    linalg.generic ... ins(%x, %sum, %g : ...) outs(%row : memref<8x2048xbf16>)
    scf.for %v = %begin to %end step %c1 { ... %row ... }
    // =>
    scf.forall (%thread) in (512) {
      ... vector.load %x[%warp / 2, ...] ... gpu.shuffle xor ...
      memref.store %part_of_sum, %sums[%warp]
      gpu.barrier
      ... memref.load %sums[...] ... gpu.shuffle xor ...
      vector.store %part, %row[%warp / 2, ...]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    scf.for %v = %begin to %end step %c1 { ... %row ... }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let statistics = [
    Statistic<"numRows", "rows", "Rows that warps make">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def ReloadOperandsPass : Pass<"ark-reload-operands", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Rematerialise the addresses of operands in the vCTAs that use them";
  let description = [{
    An address takes two registers of every thread from the first vCTA of a run to the last one.
    Values that are computed from it, and are the same for all vCTAs, take registers as well. Bodies
    with many operands have no registers for that. In these bodies each vCTA looks up the addresses
    in the table of operands, which is in shared memory, when it begins. Addresses that are only
    stored to are looked up before the first store. In a body without a loop over vCTAs, the pass
    moves only the addresses that are stored to.

    ```mlir
    llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %y: !llvm.ptr) {
      ...
      %0 = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %sum, %0 : f32, !llvm.ptr
    // =>
    llvm.func internal @body(..., %context: !llvm.ptr, %first: i64) {
      ...
      %number = llvm.add %first, %one : i64
      %address = llvm.call @ark_operand(%context, %number) : (!llvm.ptr, i64) -> !llvm.ptr
      %0 = llvm.getelementptr %address[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
      llvm.store %sum, %0 : f32, !llvm.ptr
    ```
  }];
  let options = [
    Option<"minOperands", "min-operands", "int64_t", /*default=*/"7",
           "Bodies with fewer keep their addresses">,
  ];
  let statistics = [
    Statistic<"numReloaded", "reloaded", "Addresses looked up later">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // ARK_PASSES_TARGET_CUDAPASSES_TD
