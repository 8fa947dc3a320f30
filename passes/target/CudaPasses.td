//===- CudaPasses.td - Passes for NVIDIA GPUs alone --------*- tablegen -*-===//
//
// First to last: `addProducts` of CudaLowering.cpp. Passes.td includes them.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TARGET_CUDAPASSES_TD
#define ARK_PASSES_TARGET_CUDAPASSES_TD

include "mlir/Pass/PassBase.td"

def AskForKeysPass : Pass<"ark-ask-for-keys", "::mlir::ModuleOp"> {
  let summary = "Ask the L2 for keys and values before packets are polled";
  let description = [{
    An attention waits for its query as packets, and loads keys and values only then, one after the
    other, from memory. But all of them that were there before this step are where they are: threads
    ask the L2 for lines of them before they poll. What tells how many there are moves to
    the front. Rows of which the run knows the number are taken for keys or values.

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
  let summary = "Have a warp do what follows each other on a row";
  let description = [{
    A norm before something else, such as those of query and key heads before their rotation and
    attention, is several loops with a barrier between each two of them. Where ops of a vCTA
    that follow each other need nothing but their own row, and something is reduced, a warp does all
    of them for a row: lane `i` has the columns `i`, `i + 32`, ..., all loads come first, and values
    stay in registers until others read them. A value is computed once more where other columns of
    its row want it.

    Ops stay where they are more rows than warps, rows longer than 256, or all that a vCTA does.

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
    Scores, their softmax and the sum of values, for rows of queries that share
    keys, of bf16 or f16, as `ark.attention` and `ark.partial_attention` leave them in a
    body. Each of those ops is a loop of its own, with a barrier and a trip to shared memory
    behind it. Instead, a warp takes 16 or 32 keys a step, and carries the largest
    score of each row, and the sums of powers and of values relative to it, in registers.
    Tensor cores multiply.

    Of up to 8 rows, all warps take steps in turn. The first product has queries by keys, the second one values by
    queries, so that a lane has powers of those keys that it needs; they enter as sums of
    numbers of the values' type that are exact. A second loop puts together what the
    warps have, always in the same order, and does the elementwise ops behind.

    More rows are blocks of 16, which the first product has as its rows, and the second one again.
    Where there are more warps than blocks, several have parts of a block's keys; or, where lanes run
    several vCTAs one after the other, teams of warps take those in turn, without a barrier
    between them. A warp that has all keys of its rows does the ops behind by itself.

    A key beyond the length counts for nothing, whatever it holds. Masks, and what becomes
    of rows without any key, are the ops' own; numbers differ from theirs by rounding.

    Ops that are not in such an order stay, as do depths of more than 128, of blocks those that
    are no multiple of 16, rows that are not aligned to 16 bytes, and what would take more than 40 KB of shared
    memory. Where no lane runs two such vCTAs at once, the loop over them goes.

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
  let summary = "Poll for packets with all threads of a CTA";
  let description = [{
    Each thread loads four packets at once, or two of f32, and those that miss again until all have
    the epoch of this iteration; while loads are on their way, the first thread of every warp asks for
    parameters to come, and it looks now and then whether it took too long. The values end up in a temporary. What is received
    one after the other is received at once.

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
  let summary = "Multiply matrices by tensor cores";
  let description = [{
    A product of a tile of activations, 2 to 128 rows, with up to 128 rows of a
    weight, both of bf16 or f16 and contiguous in what is summed over, with sums in
    f32. A thread loads 16 bytes of a row at once, which serve two instructions: these
    want other elements, but both operands agree about their order. As soon as what
    was loaded is used, a thread asks for what comes some steps later. Either side may have
    8-bit floats: of these a thread loads 8 bytes, and widens them to what the other side has,
    or to f16, when it multiplies.

    Of up to 16 rows a warp has all, with 16 rows of weights and a part of the
    depth; products of the same activations in one vCTA are one loop. Its loads want whole
    lines, which stay in the L2 alone. Where that fits, the depth has as many parts as let a warp
    ask for all of its part at once, and the warps do the rows of weights in turns: what is on
    its way are whole rows then. While they multiply one turn, the next one is on its way. Of more rows a
    warp has 32, with 32 rows of weights or 16 rows of two, or fewer where there are
    memory and warps for it. Such tiles go through shared memory, if they are whole: the
    threads copy what comes next while the warps multiply. Where warps have parts of the
    depth, a reduction adds them up, always in the same order; without memory for
    them there is one part, which is added to the result.

    On sm_90a, whole tiles of 64 rows and more are multiplied by warpgroups, four
    warps together, straight from shared memory (`wgmma`): up to 128 by 256 or 256 by
    128, or two products of half of it, with the depth a multiple of 64, in
    stages of 64 elements a row, in the layout that the instructions read. All threads copy,
    two stages ahead. Where that is faster, for tiles of 256 by 128 of up to 2048 elements of depth, a thread
    for each factor asks for boxes by tensor maps instead (`cp.async.bulk.tensor`); that needs factors that are
    rows of a matrix, apart by a multiple of 16 bytes. The sums go to the same memory in the end; they take the place of the
    temporary that was to hold the product.

    Rows beyond the end read the last one again; what is beyond the end of the
    depth is zero. Products with unaligned rows stay, and those of other types.

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
  let summary = "Copy parameters to shared memory before the runs that read them";
  let description = [{
    A product of one row with rows of a parameter, of which every vCTA has its
    own, reads each byte once, and what a lane will read is known when it starts.
    From sm_90 on, every warp has a ring of slots in shared memory and asks for
    pieces of parameters in the order in which it reads them, across tasks, with
    copies that run by themselves. So memory stays busy while lanes wait for each
    other. Weights may be 8-bit floats, whatever the row is, which threads widen when they
    multiply. A function for each product adds up all rows of a run; the loop over
    vCTAs reads the sums. `CudaStream.mlir` has what is the same for all products.

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

    What ops after the product read of arguments is asked for before it. Rows of 16-bit floats are
    multiplied by instructions for matrices, which take what a thread has loaded of a piece as it is.

    What is asked for before its run is paced, since signals and activations queue behind it;
    where lanes poll for packets, a run sends its own before more is asked for, and rings have fewer slots:
    packets come sooner than what would fill more, and queue behind it. A lane whose rings are full asks the L2 for as many pieces more.
    Where runs are short, rings have to be filled between them, and memory has time for that.
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
  let summary = "Have every lane make the tensor maps of its tasks";
  let description = [{
    Where products of whole tiles are copied in boxes, `ark-use-tensor-cores` leaves in the
    bodies which operands these are of. A table says for every task which maps it has, and
    another one for every map in which buffer its operand lies, with extents and distances.
    Each lane makes its own maps from that when it begins (`CudaTensorMaps.mlir`), with
    the addresses of this launch, so that nothing is known of them outside of the kernel.

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
  let summary = "Ask the L2 for weights before activations are there";
  let description = [{
    A product of tensor cores loads its weights once its activations are there. But which weights its run
    reads first is known before: threads ask the L2 for up to 32 KB of each tile of 64 KB and more
    that the first vCTA reads, lines from all over their rows, so that memory has work while packets are
    polled and norms are made. A run that receives packets asks before it looks at them. One that runs
    behind a wait is asked for before the wait: `ark_ask`, which is `ark_run` with functions that only ask
    in the place of bodies, is called for the run behind it (CudaAsk.mlir). What rings bring is on its way
    without.

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
  let summary = "Have each warp make rows that the vCTAs of a run share";
  let description = [{
    What is done once for a run, before its loop over vCTAs, ends in a barrier for each of its
    ops, and the rows that a norm reads are loaded as often. Where ops like these make rows
    of the body's arguments, `memref<MxK>`, one or several warps make each row instead, with all
    loads at once: each adds up and writes its part, and sums of a whole row go through shared memory,
    with one barrier. Rows that are packets, and that nobody else reads, each thread receives by
    itself, after it has asked for all else.

    Rows stay as they are where there are more than warps, where they are no multiple of what
    the threads of a warp load at once, or longer than their registers hold.

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
  let summary = "Look up operands when a vCTA needs them";
  let description = [{
    An address takes two registers of every thread from the first vCTA of a run to its last, and
    so does all that is computed from it and is the same for all vCTAs. Bodies of many operands have none for
    that: each vCTA looks them up in the table of operands, which is in shared memory, when it begins, and those
    that it only stores to before its first store. Where there is no loop over vCTAs, only the latter are.

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
