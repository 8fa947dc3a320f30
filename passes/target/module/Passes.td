//===- Passes.td - Passes that build the module of the target --*- tablegen -*-===//

#ifndef ARK_PASSES_TARGET_MODULE_PASSES_TD
#define ARK_PASSES_TARGET_MODULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToTargetPass : Pass<"ark-lower-to-target", "::mlir::ModuleOp"> {
  let summary = "Run the lowering of the module's target";
  let description = [{
    The module's attribute `ark.target` selects the backend, whose passes run. They produce functions
    in the LLVM dialect for `cpu`, a `gpu.module` in the LLVM and NVVM dialects for `cuda`, and a
    `gpu.module` in the LLVM and ROCDL dialects for `hip`. A dump of an earlier stage hence compiles
    without a flag.

    ```mlir
    module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", ...>} {
      func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 { ... }
    }
    // =>
    gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "sm_90a", ...>] {
      llvm.func @ark_kernel(%context: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} { ... }
    }
    ```
  }];
  let options = [
    Option<"vectorElements", "vector-elements", "int64_t", /*default=*/"0",
           "f32 elements of a vector register on cpu; 0 selects those of this machine">,
  ];
}

def GuardStoresPass : Pass<"ark-guard-stores", "::mlir::func::FuncOp"> {
  let summary = "Skip the stores at an index out of bounds";
  let description = [{
    Replaces each `ark.store_index` by a comparison and a selection. Puts every store whose address
    depends on the index into a branch, so that an update of a state at an offset out of bounds writes
    nothing. Runs after bodies have become loops of loads and stores.

    ```mlir
    %valid = ark.store_index %offset below %bound
    memref.store %value, %state[%valid] : memref<8xf32>
    // =>
    %inside = arith.cmpi ult, %offset, %bound : index
    %valid = arith.select %inside, %offset, %zero : index
    scf.if %inside {
      memref.store %value, %state[%valid] : memref<8xf32>
    }
    ```

    Emits an error at an op that writes to such an address in another way, which includes calls with a
    buffer or a pointer that depends on the index. A branch has the comparison next to the index as its
    condition. The pass hence also emits an error if such a value leaves a region or an iteration: at
    a yield, an initial value or the step of a loop.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect",
  ];
  let statistics = [
    Statistic<"numGuarded", "guarded", "Stores put into a branch">,
  ];
}

def WidenBooleansPass : Pass<"ark-widen-booleans"> {
  let summary = "Load and store booleans as bytes";
  let description = [{
    A buffer has one byte for each boolean. LLVM loads a vector of `i1` from packed bits instead, and
    does not vectorise loops that load or store single bits.

    ```mlir
    %1 = llvm.load %0 : !llvm.ptr -> vector<16xi1>
    // =>
    %b = llvm.load %0 : !llvm.ptr -> vector<16xi8>
    %1 = llvm.icmp "ne" %b, %c0 : vector<16xi8>
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let statistics = [
    Statistic<"numWidened", "widened", "Loads and stores changed">,
  ];
}

def VerifyTargetPass : Pass<"ark-verify-target", "::mlir::ModuleOp"> {
  let summary = "Check that the output of the target stage can become code";
  let description = [{
    Changes nothing. Checks a module with an `ark.kernel`:

    - (target_c1) all other ops belong to the LLVM dialect or to the backend's dialect: NVVM or ROCDL.
    - (target_c2) for a GPU these ops are in one `gpu.module`, which names its target.
    - (target_c3) the entry has code, the type of docs/bundle.md, and is visible.
    - (target_c4) every body has code.
    - (target_c5) every function that is called has code, for backends that link no library, such as
      `hip`.
    - (target_c6) arguments of bodies carry `ark.packets` if the tables say that they are packets,
      and only packet instructions use values that are computed from their addresses: for cuda the
      relaxed stores and loads of CudaPacketWords.mlir, for hip relaxed stores and loads of 32 or 64
      bits, for cpu 64-bit stores with release ordering.
    - (target_c7) inline assembly and intrinsics belong to the backend: no PTX for hip, no assembly
      for cpu.
    - (target_c8) the shared memory of a CTA fits into an SM.
    - (target_c9) no load or store is of `i1` or of a vector of `i1`, since LLVM packs the bits of a
      vector.
  }];
}

def ReloadOperandsPass : Pass<"ark-reload-operands", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Rematerialise the addresses of operands in the vCTAs that use them";
  let description = [{
    An address occupies two registers of every thread from the first vCTA of a work item to the last
    one. Values that are computed from the address, and are the same for all vCTAs, occupy registers
    as well. In bodies with many operands, registers do not suffice for this. There, each vCTA looks
    up the addresses when it begins, in the operand table in shared memory. Addresses that are only
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
           "Minimum number of operands of a body for which addresses are rematerialised">,
  ];
  let statistics = [
    Statistic<"numReloaded", "reloaded", "Addresses rematerialised">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def CacheTablesPass : Pass<"ark-cache-tables", "::mlir::ModuleOp"> {
  let summary = "Cache the kernel's tables in shared memory";
  let description = [{
    When a CTA starts, its threads copy the context and as many tables as fit to shared memory. The
    kernel then reads the copies. Without copies, a lane would read tables from the L2 between two
    tasks, in a chain of dependent loads, because an acquire invalidates the L1. The table of
    operands becomes a table of addresses. Functions of the kernel that read entries of tables get
    bodies that read the copies.

    ```mlir
    func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
      ... %context ...
    }
    func.func private @ark_operand(%context: !llvm.ptr, %operand: i64) -> !llvm.ptr {
      ...
    // =>
    func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
      %0 = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
      ...
      gpu.barrier
      ... %cached ...
    }
    func.func private @ark_operand(%context: !llvm.ptr, %operand: i64) -> !llvm.ptr {
      ...
      %pointer = llvm.getelementptr %addresses[%operand] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
      %address = llvm.load %pointer : !llvm.ptr -> !llvm.ptr
      return %address : !llvm.ptr
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"49152",
           "Upper bound of the shared memory for context and tables, in bytes">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect",
  ];
}

def BuildGpuModulePass : Pass<"ark-build-gpu-module", "::mlir::ModuleOp"> {
  let summary = "Build the gpu.module with the kernel that a GPU launches";
  let description = [{
    Moves functions to a `gpu.module` for the target's architecture. CTA `i` of the kernel runs lane
    `i`. Thread 0 of the CTA writes the return value of the lane to the context's `codes`. For hip
    the pass also fixes the size of shared memory, which is part of the code object. If some bodies
    have `wgmma` instructions, only these bodies are inlined into the kernel: in a called function,
    ptxas would wait for each `wgmma`.

    ```mlir
    func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 { ... }
    // =>
    gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
      func.func private @ark_dispatch_loop(%context: !llvm.ptr, %lane: i64) -> i32 { ... }
      gpu.func @ark_kernel(%context: !llvm.ptr) kernel { ... }
    }
    ```
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"512",
           "Threads of a CTA">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
  ];
}

def BuildLineTablePass : Pass<"ark-build-line-table", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Number debug locations and write a table of the ops that they name";
  let description = [{
    Line information in PTX consists of a file, a line and a column, but one line of Python may
    create many ops. Every location hence gets a number, which LLVM treats as a line, and the module
    gets a table of the locations: the name of an op or of a function, with file, line and column.
    The backend writes the table into the PTX. Code of functions that bodies call is attributed to
    the calling op.

    ```mlir
    llvm.func @body_matmul_add(...) { ... loc("fc1"("mlp.py":7:9)) ... }
    // =>
    gpu.module @ark_gpu attributes {
        ark.line_table = [["body_matmul_add", "mlp.py", 7, 9], ["fc1", "mlp.py", 7, 9], ...]} ...
    llvm.func @body_matmul_add(...) { ... loc("ark-lines":2:0) ... }
    ```

    Scopes are of the kind `DebugDirectivesOnly`, which does not change the code.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let statistics = [Statistic<"numEntries", "entries", "Entries of the table">];
}

#endif // ARK_PASSES_TARGET_MODULE_PASSES_TD
