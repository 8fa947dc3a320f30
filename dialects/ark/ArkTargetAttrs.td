//===- ArkTargetAttrs.td - Facts about machines -----------------*- tablegen -*-===//

#ifndef ARK_TARGET_ATTRS_TD
#define ARK_TARGET_ATTRS_TD

include "dialects/ark/ArkAttrBase.td"

def Ark_FragmentAttr : Ark_Attr<"Fragment", "fragment"> {
  let summary = "The elements of a matrix that each thread of a warp holds";
  let description = [{
    Each parameter is a pair of numbers, for rows and for columns. The matrix is divided into
    `outer` blocks, and a block into `threads` shares, one for each thread. A share has `elements`
    elements:

    - rows and columns of the matrix: `outer * threads * elements`;
    - the share of thread `t` of the warp along a dimension: `t / strides mod threads`;
    - the order of a thread's elements: block by block, down each column of blocks first.

    ```mlir
    // Thread 5 holds the elements (1, 2), (1, 3), (9, 2) and (9, 3) of 16 x 8.
    #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>
    ```

    Constraints:
    - (fragment_c1) every parameter has two entries, and all entries are positive.
    - (fragment_c2) no entry exceeds 65536.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$outer, ArrayRefParameter<"int64_t">:$threads,
                        ArrayRefParameter<"int64_t">:$strides,
                        ArrayRefParameter<"int64_t">:$elements);
  let assemblyFormat = [{
    `<` struct(custom<List>($outer), custom<List>($threads), custom<List>($strides),
               custom<List>($elements)) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the rows (0) or columns (1) of the matrix.
    int64_t getExtent(unsigned dim) const {
      return getOuter()[dim] * getThreads()[dim] * getElements()[dim];
    }
    /// Returns the number of threads.
    int64_t getNumThreads() const { return getThreads()[0] * getThreads()[1]; }
    /// Returns the number of elements of a thread.
    int64_t getNumElements() const {
      return getOuter()[0] * getOuter()[1] * getElements()[0] * getElements()[1];
    }
    /// Returns the row and the column of a thread's element, relative to its first element.
    std::pair<int64_t, int64_t> getOffset(int64_t element) const;
  }];
}

def Ark_MmaOperandsParameter : EnumParameter<Ark_MmaOperands> {
  let defaultValue = "::mlir::ark::MmaOperands::Float16";
}

def Ark_MmaAttr : Ark_Attr<"Mma", "mma"> {
  let summary = "A matrix instruction";
  let description = [{
    The instruction adds the product of a left operand of `m` by `k` and a right operand of `k` by
    `n` to `m` by `n` accumulators.

    - `kind`: the family, which decides the op that lowerings create. Instructions of the kind `other`
      are facts for lowerings outside of ark, whose passes never select them.
    - `operands`: the element types of the operands. `f16`: both are f16 or both are bf16, and the
      accumulators are f32. `f8`: both are f8E4M3FN or both are f8E5M2, and the accumulators are f32.
      `i8`: both are signed integers of 8 bits, and the accumulators are i32, which wrap.
    - `warps`: warps that execute the instruction together. Each has an equal share of the rows.
    - `lhs`, `rhs`: the fragments of the operands in a warp. Without them, the instruction reads
      the operands from shared memory.
    - `acc`: the fragment of a warp's accumulators. If an instruction exists for several numbers of
      columns, `n` is the least of them, and further columns repeat the fragment.

    Constraints:
    - (mma_c1) fragments have the shape of their matrix: `lhs` is `m` by `k`, `rhs` is `k` by `n`,
      and `acc` is `m / warps` by `n`.
    - (mma_c2) either both operands have a fragment or neither has one, and one warp executes an
      instruction whose operands have fragments.
  }];
  let parameters = (ins EnumParameter<Ark_MmaKind>:$kind, "int64_t":$m, "int64_t":$n, "int64_t":$k,
                        DefaultValuedParameter<"int64_t", "1">:$warps,
                        Ark_MmaOperandsParameter:$operands,
                        OptionalParameter<"::mlir::ark::FragmentAttr">:$lhs,
                        OptionalParameter<"::mlir::ark::FragmentAttr">:$rhs,
                        "::mlir::ark::FragmentAttr":$acc);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the bits of an element of the operands.
    int64_t getOperandBits() const {
      return getOperands() == ::mlir::ark::MmaOperands::Float16 ? 16 : 8;
    }
    /// Returns true if the operands are in registers, and not in shared memory.
    bool readsRegisters() const { return static_cast<bool>(getLhs()); }
    /// Returns true if every thread holds the same elements of K of both operands, and one column of
    /// the right operand, which has the thread's position among the rows of a block of the left
    /// operand. Both operands may then use any common order of K, such as the order in which the
    /// threads load it.
    bool hasOperandsOfSameThreads() const;
    /// Returns true if each thread holds accumulators of the rows of its left operand, in pairs of
    /// neighbouring columns, row by row.
    bool hasAccumulatorsInThreadsOfLhs() const;
    /// Returns true if each thread holds accumulators of the column of its right operand, in groups of
    /// neighbouring rows that have the extent of the thread's elements of the right operand along K or
    /// divide it.
    bool hasAccumulatorsInThreadsOfRhs() const;
  }];
}

def Ark_MatrixTilesAttr : Ark_Attr<"MatrixTiles", "matrix_tiles"> {
  let summary = "Tiles of a matmul whose operands go through shared memory";
  let description = [{
    Matrix instructions read the operands from shared memory, or warps load them from there. The
    operands have elements of 16 bits, and their rows lie along the depth (K).

    - `panel`: the number of rows or columns of a panel. The instructions can also read operands
      whose rows lie across the depth, if each warpgroup has whole panels. 0 if the instructions
      cannot read such operands.
    - `shapes`: rows and columns of each tile of the result, one after the other.
    - `depth`: the depth of one stage, in elements.
    - `tile`: the time of the prologue and the epilogue of a tile, in ns.
    - `stage_row`: the time of one row or column of an operand of one stage, in ps. A CTA copies the
      rows and columns of a tile to each stage. If instructions read operands from shared memory,
      each warpgroup also reads its rows and columns of the stage.
    - `min_stage`: the minimum time of one stage, in ns. The barriers between stages take this time
      even if the stage has few rows.
    - `l2`: the largest accumulators, in bytes, that stay in the L2 between the tasks of split-K
      that write them and the tasks that add them.

    Constraints:
    - (matrix_tiles_c1) `shapes` has an even number of entries. `shapes`, `depth`, `tile` and
      `stage_row` are positive, and no number is negative.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shapes, "int64_t":$depth, "int64_t":$tile,
                        "int64_t":$stage_row, DefaultValuedParameter<"int64_t", "0">:$min_stage,
                        DefaultValuedParameter<"int64_t", "0">:$l2,
                        DefaultValuedParameter<"int64_t", "0">:$panel);
  let assemblyFormat = [{
    `<` struct(custom<List>($shapes), $depth, $tile, $stage_row, $min_stage, $l2, $panel) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the rows and columns of every tile.
    ::llvm::SmallVector<std::pair<int64_t, int64_t>> getTiles() const;
  }];
}

def Ark_ScopesAttr : Ark_Attr<"Scopes", "scopes"> {
  let summary = "Names of the memory scopes of a GPU";
  let description = [{
    A scope names the threads for which a memory access is atomic and ordered. The names are words of
    PTX, or of LLVM's `syncscope`.

    - `device`: all threads of the GPU.
    - `system`: also the host and other GPUs. The empty name is the default scope of LLVM.

    ```mlir
    #ark.scopes<device = "gpu", system = "sys">
    ```

    Constraints:
    - (scopes_c1) `device` is not empty, and names consist of letters, digits, `_` and `-`.
  }];
  let parameters = (ins StringRefParameter<>:$device, StringRefParameter<"", [{""}]>:$system);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Ark_LinksAttr : Ark_Attr<"Links", "links"> {
  let summary = "Rates of the links between GPUs of one host";
  let description = [{
    - `bandwidth`: stores of all SMs of a GPU to other GPUs, GB/s.
    - `sm_bandwidth`: stores of one SM to other GPUs, GB/s.
    - `message_bandwidth`: messages of a collective, from the first store until the last reader has
      them, GB/s.
    - `packet`: the latency of a message that travels as task packets, ns.
    - `message`: the latency of another message, with the hand-offs within both GPUs, ns.

    ```mlir
    #ark.links<bandwidth = 370, sm_bandwidth = 33, message_bandwidth = 287,
               packet = 900, message = 8000>
    ```

    Constraints:
    - (links_c1) the bandwidths are positive, and the latencies are not negative.
  }];
  let parameters = (ins "int64_t":$bandwidth, "int64_t":$sm_bandwidth,
                        "int64_t":$message_bandwidth, "int64_t":$packet, "int64_t":$message);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Ark_GpuAttr : Ark_Attr<"Gpu", "gpu"> {
  let summary = "Facts about the architecture of a GPU";
  let description = [{
    - `warp_size`: threads of a warp.
    - `features`: the LLVM target features that code for the architecture needs.
    - `copies`: asynchronous copies to shared memory.
    - `cluster`: the maximum number of CTAs in a thread block cluster; 1 without clusters.
    - `packet`: the maximum number of bytes of a store that threads of other SMs observe as a whole
      when they poll; 0 if tasks cannot exchange LL packets.
    - `l1`: the largest buffer, in bytes, that stays in the L1 of an SM after its first read.
    - `scopes`: names of memory scopes. Kernels need them: kernel texts and the checks of generated
      code use these names.
    - `fp8`: instructions convert 8-bit floats.
    - `mma`: matrix instructions.
    - `matrix_tiles`: tiles for the instructions of `mma` that read operands from shared memory; if
      there are none, for those that read registers.
    - `links`: rates of links between GPUs. Without it, predictions use the links of an H200.

    Constraints:
    - (gpu_c1) `warp_size` and `cluster` are positive, and `packet` and `l1` are not negative.
    - (gpu_c2) the fragments of `mma` have `warp_size` threads.
  }];
  let parameters = (ins
    "int64_t":$warp_size, StringRefParameter<"", [{""}]>:$features,
    OptionalArrayRefParameter<"::mlir::ark::CopyKind">:$copies,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"int64_t", "0">:$packet,
    DefaultValuedParameter<"int64_t", "0">:$l1,
    OptionalParameter<"::mlir::ark::ScopesAttr">:$scopes,
    DefaultValuedParameter<"bool", "false">:$fp8,
    OptionalArrayRefParameter<"::mlir::ark::MmaAttr">:$mma,
    OptionalParameter<"::mlir::ark::MatrixTilesAttr">:$matrix_tiles,
    OptionalParameter<"::mlir::ark::LinksAttr">:$links);
  let assemblyFormat = [{
    `<` struct($warp_size, $features, custom<List>($copies), $cluster, $packet, $l1, $scopes,
               $fp8, custom<List>($mma), $matrix_tiles, $links) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns true if the GPU has asynchronous copies of this kind.
    bool hasCopy(::mlir::ark::CopyKind kind) const {
      return ::llvm::is_contained(getCopies(), kind);
    }
    /// Returns the first matrix instruction that reads operands of a kind from registers, or null.
    ::mlir::ark::MmaAttr findRegisterMma(
        ::mlir::ark::MmaOperands operands = ::mlir::ark::MmaOperands::Float16) const;
    /// Returns the first matrix instruction that reads floats of 16 bits from shared memory, or null.
    ::mlir::ark::MmaAttr findSharedMemoryMma() const;
  }];
}

def Ark_TargetAttr : Ark_Attr<"Target", "target"> {
  let summary = "Facts about the machine that a program is compiled for";
  let description = [{
    `backend` is the name of a backend that generates code for the machine: `cpu`, `cuda` or `hip`. It
    is a word, and not an enumerator, so that the dialect needs no list of backends.

    The numbers describe the whole device, except where the list below says otherwise. The cost
    model has no other source of facts about the machine, so a measured value can replace each
    number.

    - `sms`: streaming multiprocessors; worker threads on `cpu`. 1 to 65536.
    - `warps`: warps of one persistent CTA; on `cpu` the maximum number of lanes of a worker.
    - `shared_memory`: bytes that the vCTAs of one SM may share.
    - `bandwidth`: streaming read, GB/s. `flops`: dense matrix rate, GFLOP/s.
    - `handoff`: one SM-to-SM signal, ns. `barrier`: one grid barrier, ns.
    - `overhead`: fixed cost of starting one vCTA, ns.
    - `gpu`: the architecture of a GPU (`#ark.gpu`). If ark knows `arch`, the parameter may be
      omitted, and is printed only if it differs from the known facts.

    ```mlir
    module attributes {ark.target = #ark.target<backend = cpu, arch = "host",
      sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 100,
      handoff = 200, barrier = 400, overhead = 50>} {}
    ```

    Constraints:
    - (target_attr_c1) `backend` is not empty. GPUs have a `gpu`, and `cpu` has none.
    - (target_attr_c2) `sms`, `warps`, `bandwidth` and `flops` are positive, `sms` is at most 65536,
      and no number is negative.
  }];
  let parameters = (ins
    StringRefParameter<>:$backend, StringRefParameter<>:$arch,
    "int64_t":$sms, "int64_t":$warps, "int64_t":$shared_memory,
    "int64_t":$bandwidth, "int64_t":$flops, "int64_t":$handoff,
    "int64_t":$barrier, "int64_t":$overhead, OptionalParameter<"::mlir::ark::GpuAttr">:$gpu);
  let assemblyFormat = [{
    `<` struct(custom<Word>($backend), $arch, $sms, $warps, $shared_memory, $bandwidth, $flops, $handoff,
               $barrier, $overhead) `` custom<Gpu>($gpu, ref($backend), ref($arch)) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns true if many threads of an SM run one vCTA together.
    bool isGpu() const { return static_cast<bool>(getGpu()); }
    /// Returns true if work items poll the task packets that they read: see ark-hand-off-packets.
    bool hasPolledPackets() const { return isGpu() && getGpu().getPacket() != 0; }
    /// Returns true if the target has asynchronous copies of this kind.
    bool hasCopy(::mlir::ark::CopyKind kind) const { return isGpu() && getGpu().hasCopy(kind); }
    /// Returns the number of threads of a warp, and 1 on `cpu`.
    int64_t getWarpSize() const { return isGpu() ? getGpu().getWarpSize() : 1; }
  }];
}

#endif // ARK_TARGET_ATTRS_TD
