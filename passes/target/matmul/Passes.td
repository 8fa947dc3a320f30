//===- Passes.td - Passes for tensor-core matmuls ----------*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_MATMUL_PASSES_TD
#define ARK_PASSES_TARGET_MATMUL_PASSES_TD

include "mlir/Pass/PassBase.td"

def UseTensorCoresPass : Pass<"ark-use-tensor-cores", "::mlir::ModuleOp"> {
  let summary = "Multiply matrices with tensor cores";
  let description = [{
    Rewrites products of a tile of activations, 2 to 128 rows, with up to 128 rows of a weight. Both
    operands are bf16 or f16 and contiguous along K; accumulators are f32. A thread loads 16 bytes
    of a row at once, enough for two `mma` instructions. A and B use the same permuted K order, so
    that the sum is unchanged. As soon as a load has been used, the thread issues the load of a
    later step. Either operand may have 8-bit floats. A thread loads 8 bytes of such an operand, and
    widens them in registers to the type of the other operand, or to f16 if both operands have 8-bit
    floats. Instructions of 8-bit operands multiply i8, with accumulators of i32, and two operands of
    one type of 8-bit floats (gfx950). The 16 bytes of a load are then 16 elements along K.

    Up to 16 rows of activations: a warp multiplies all of them by 16 rows of weights over a split-K
    part. Products of the same activations in one vCTA share a loop. The loads of weights fetch whole
    lines, which are cached in the L2 only. If shared memory suffices, K is split into enough split-K
    parts for a warp to issue all loads of its part at once. The warps then iterate over the rows of
    weights. Whole rows are in flight, and the loads of the next iteration overlap with the
    products of the current one.

    If a view that is the right operand of a product is created after another product with the same
    left operand, the view moves before that product, so that both products share a loop.

    More rows of activations: a warp multiplies 32 of them by 32 rows of one weight, or by 16 rows
    of each of two weights. The warp takes fewer rows if the number of warps or the memory requires
    that. Whole tiles go through shared memory: the threads copy the next stages with `cp.async`
    while the warps multiply. If K is split among warps, a reduction adds the partial sums in a
    fixed order. If memory does not suffice for partial sums, K is not split, and the product is
    added to the result directly.

    On sm_90a, warpgroups (four warps) multiply tiles of at least 64 rows from shared memory with
    `wgmma`. Each operand of 16 bits may be clipped: threads then fill the missing rows of a stage
    with zeros, and no op reads the accumulators of these rows. The rows of either operand may lie
    across K instead, as those of `[K, N]` weights: a stage then holds panels of 64 columns, with one
    row for each K. A warpgroup needs whole panels. The addresses of such rows are multiples of 16
    bytes, and threads copy the bytes of a clipped panel that exist. A tile has up to 128 by
    256 or 256 by 128 elements, or half of it for two products. K must be a multiple of 64. Operands
    go through shared memory in stages of 64 elements a row, in the swizzled layout that `wgmma`
    reads. The right operand of a convolution is an image whose rows begin at multiples of 16 bytes. Threads
    copy its windows: a row of a stage holds one element of neighbouring windows, and each row of the result
    takes columns of whole copies. All threads copy with `cp.async`, up to six stages ahead. The products of
    a stage overlap with those of the next stage. If at most three stages fit, the products of a stage end before
    the next copy, so that two stages are copied ahead and not one, and all copies are by threads.
    If a work item has several vCTAs, they copy the first stages of the next
    tile after the last product of a tile, while they store accumulators. In work items with one
    vCTA, and for tiles of 256 by 128 with K of at most 2048, TMA copies are faster: one thread for
    each operand issues `cp.async.bulk.tensor` instead. TMA copies need operands that are rows of
    one matrix, with a pitch that is a multiple of 16 bytes. The accumulators are finally stored to
    the memory of the stages, which replaces the temporary of the product. If every reader of the
    product rounds it to 16 bits first, the rounded accumulators are stored.

    On a GPU without asynchronous copies (AMD), all warps of a CTA multiply a tile of more rows than
    two instructions take. Threads load a stage of 64 or 128 bytes along K from global memory to
    registers, 16 bytes at a time, and store it to one of two stages in shared memory, while the
    warps multiply the other one. Loads run two stages ahead. A row of a stage has 64 or 128 bytes,
    and the place of its 16-byte chunks depends on the row, so that neither loads nor stores of
    eight threads meet in a bank. If the rows of an operand of 16 bits lie across K, as those of
    `[K, N]` weights, a thread loads eight elements of four rows, transposes them in registers, and stores
    four elements along K to each of eight rows of the stage. If only elementwise ops read the
    product, threads apply them to the accumulators, and the product needs no temporary.

    If the GPU has loads to LDS (`load_lds`), the rows of both operands lie along K, and K has whole
    stages, warps copy the stages without registers, 16 bytes for each thread. Shared memory holds
    three stages: the copies of two are in flight while the warps multiply the third one. A copy
    writes neighbouring chunks of a stage, so each thread reads the chunk whose place is its own.

    Operands of f32 become bf16: threads load a stage, split each element into three bf16 terms, whose
    sum is the element, and store the terms to one of two stages, while warpgroups multiply the terms in
    the other stage. Of the nine products of terms, the six largest are added, with an error as in f32.
    A thread with an infinite accumulator or a NaN computes its accumulators again in f32, from the
    operands in memory, since the terms of an infinity have no meaning. Without `wgmma`, threads compute
    products of f32.

    Loads of rows beyond the end read the last row again; elements beyond the end of K are zero. The
    pass skips products with unaligned rows and products of other types.

    ```mlir
    linalg.generic ... ins(%x, %w : memref<8x2048xbf16>, memref<16x2048xbf16, strided<...>>)
        outs(%t : memref<8x16xf32>)
    // =>
    %partial_sums = memref.alloca() : memref<16x8x20xf32>
    scf.forall (%thread) in (512) {
      ... llvm.inline_asm "ld.global.L1::no_allocate.L2::128B.v4.b32 ..." %w ... vector.load %x ...
      nvvm.mma.sync A[...] B[...] C[...] ...
      memref.store %sum, %partial_sums[%part, %m, %n]
    } {mapping = [#gpu.thread<linear_dim_0>]}
    linalg.generic ... ins(%partial_sums_view : memref<16x8x16xf32, strided<...>>) outs(%t : memref<8x16xf32>)
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"allTensorMaps", "all-tensor-maps", "bool", /*default=*/"false",
           "Copy with tensor maps whenever possible, not only when it is faster">,
  ];
  let statistics = [
    Statistic<"numProducts", "products", "Products on tensor cores">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::ROCDL::ROCDLDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // ARK_PASSES_TARGET_MATMUL_PASSES_TD
