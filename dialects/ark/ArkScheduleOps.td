//===- ArkScheduleOps.td - Schedules, synchronisation, kernel ---*- tablegen -*-===//

#ifndef ARK_SCHEDULE_OPS_TD
#define ARK_SCHEDULE_OPS_TD

include "dialects/ark/ArkTaskOps.td"

//===----------------------------------------------------------------------===//
// Schedule: output of the `scheduling` stage
//===----------------------------------------------------------------------===//

def Ark_ScheduleOp : Ark_Op<"schedule", [HasParent<"ProgramOp">, SingleBlock, NoTerminator,
                                         RegionKindInterface]> {
  let summary = "The SM and the order in which each vCTA of a program runs";
  let description = [{
    The schedule follows the tasks of its program. An SM may have several lanes, and has none if no
    work item runs on it. Lanes run concurrently; the items of a lane run in order. One iteration of
    the program runs every lane once. `ark.barrier` at the end separates iterations.

    - (schedule_c1) at most one schedule in a program.
    - (schedule_c2) lanes name SMs below `sms`; lanes of one SM share neither warps nor shared memory.
    - (schedule_c3) every vCTA of every task runs exactly once.
    - (schedule_c4) semaphores have distinct names; every signal, wait and barrier names one.
    - (schedule_c5) a semaphore's `arrivals` equals the number of its signals in all lanes.
    - (schedule_c6) `sms` is between 1 and 65536.

    ```mlir
    ark.schedule "list" sms = 2 {
      ark.semaphore @s0 arrivals = 1
      ark.lane sms = [0, 1] warps = [0, 8] {
        ark.run "fc" [0, 4]
        ark.signal @s0
      }
      ark.lane sms = [1, 2] warps = [0, 8] {
        ark.wait @s0
        ark.run "relu" [0, 1]
      }
    }
    ```
  }];
  let arguments = (ins StrAttr:$scheduler, I64Attr:$sms,
                       OptionalAttr<I64Attr>:$predicted_ns);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $scheduler `sms` `=` $sms (`predicted_ns` `=` $predicted_ns^)? attr-dict-with-keyword $body
  }];
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    static ::mlir::RegionKind getRegionKind(unsigned) { return ::mlir::RegionKind::Graph; }
  }];
}

def Ark_LaneOp : Ark_Op<"lane", [HasParent<"ScheduleOp">, SingleBlock, NoTerminator]> {
  let summary = "The items that one range of warps of an SM executes in order";
  let description = [{
    A lane op stands for a lane on every SM in `sms`. These lanes differ only in the ranges of their
    work items, which may depend on the SM.

    - (lane_c1) `sms`, `warps` and `shared_memory` are non-empty ranges `[begin, end)`.
  }];
  let arguments = (ins DenseI64ArrayAttr:$sms, DenseI64ArrayAttr:$warps,
                       OptionalAttr<DenseI64ArrayAttr>:$shared_memory);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `sms` `=` $sms `warps` `=` $warps (`shared_memory` `=` $shared_memory^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getSmBegin() { return getSms()[0]; }
    int64_t getSmEnd() { return getSms()[1]; }
  }];
}

class Ark_LaneItemOp<string mnemonic, list<Trait> traits = []>
    : Ark_Op<mnemonic, !listconcat([HasParent<"LaneOp">], traits)>;

def Ark_RunOp : Ark_LaneItemOp<"run"> {
  let summary = "A work item: vCTAs [begin, end) of a task, numbered row-major in its grid";
  let description = [{
    Both bounds are affine in the SM, `d0`. The vCTAs of one work item have no order: a target may
    run them at once. vCTAs that depend on each other belong to different work items.

    - (run_c1) the task exists; the range lies within its grid for every SM of the lane.

    ```mlir
    ark.run "fc" [d0 * 4, d0 * 4 + 4]
    ```
  }];
  let arguments = (ins StrAttr:$task, AffineMapAttr:$range);
  let assemblyFormat = "$task custom<RunRange>($range) attr-dict";
  let hasVerifier = 1;
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$task, "int64_t":$begin, "int64_t":$end)>,
  ];
  let extraClassDeclaration = [{
    /// Returns the range of vCTAs on one SM.
    std::pair<int64_t, int64_t> getRangeOn(int64_t sm);
  }];
}

def Ark_PrefetchOp : Ark_LaneItemOp<"prefetch"> {
  let summary = "Prefetches the part of a parameter that vCTAs [begin, end) of a task read";
  let description = [{
    - (run_c1) the task exists; the range lies within its grid for every SM of the lane.
    - (prefetch_c1) `operand` is an input of the task that is bound to a parameter.
  }];
  let arguments = (ins StrAttr:$task, I64Attr:$operand, AffineMapAttr:$range);
  let assemblyFormat = "$task `operand` `=` $operand custom<RunRange>($range) attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Synchronisation: output of the `synchronization` stage
//===----------------------------------------------------------------------===//

def Ark_SemaphoreOp : Ark_Op<"semaphore", [HasParent<"ScheduleOp">]> {
  let summary = "A monotonic counter that every producer raises once in each iteration";
  let description = [{
    In iteration `e`, counted from 0, a wait ends when the counter reaches `(e + 1) * arrivals`. A
    wait hence needs the signals of all producers (all-join), and the counter needs no reset.

    - (semaphore_c1) `arrivals` is positive.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$arrivals,
                       DefaultValuedAttr<Ark_HandoffKindAttr,
                                         "::mlir::ark::HandoffKind::Counter">:$handoff);
  let assemblyFormat = [{
    $sym_name `arrivals` `=` $arrivals (`handoff` `=` `` $handoff^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Ark_SignalOp : Ark_LaneItemOp<"signal"> {
  let summary = "Releases all earlier memory accesses of the lane and adds one to the counter";
  let arguments = (ins FlatSymbolRefAttr:$semaphore);
  let assemblyFormat = "$semaphore attr-dict";
}

def Ark_WaitOp : Ark_LaneItemOp<"wait"> {
  let summary = "Waits for all arrivals of this iteration and acquires the released accesses";
  let arguments = (ins FlatSymbolRefAttr:$semaphore);
  let assemblyFormat = "$semaphore attr-dict";
}

def Ark_BarrierOp : Ark_LaneItemOp<"barrier"> {
  let summary = "Signals a semaphore and waits for it: no lane continues before all lanes have arrived";
  let arguments = (ins FlatSymbolRefAttr:$semaphore);
  let assemblyFormat = "$semaphore attr-dict";
}

//===----------------------------------------------------------------------===//
// Kernel: output of the `kernel` stage
//===----------------------------------------------------------------------===//

def Ark_KernelOp : Ark_Op<"kernel"> {
  let summary = "The tables that the persistent kernel executes, and the buffers that the host binds";
  let description = [{
    The tables contain all that differs between the layers of a program, so one entry function
    serves any number of layers. docs/bundle.md describes the tables.

    - `entry`: the kernel function. `bodies`: one function for every kind of task.
    - `arena`: bytes of the arena, slot 0 of the buffer table.
    - `buffers`: slots 1 and up, a dictionary each (`name`, `kind`, `type`, ...).
    - `tasks`: a dictionary each (`name`, `body`, `vctas`, `location`, `ops`).
    - `operands`: for every task operand its slot and byte offset, `tensor<Nx2xi64>`.
    - `task_table`: body and first operand of every task, `tensor<Tx2xi32>`.
    - `instructions`: `tensor<Ix4xi32>`: opcode and three fields.
    - `lanes`: SM, first and last instruction of every lane, `tensor<Lx3xi32>`.
    - `semaphores`: a dictionary each (`name`, `arrivals`, `handoff`).
    - `ranks`: number of ranks that share the SMs equally, if there are several.
    - `packets`: bytes of the buffer of task packets, whose slot follows those of `buffers`; absent
      without task packets.
    - `timeline`: predicted start and duration of every instruction in ns, `tensor<Ix2xi64>`.

    - (kernel_c1) tables are dense, with these columns and element types, at most 2^26 elements, and
      data for all elements.
    - (kernel_c2) `bodies`, `buffers`, `tasks` and `semaphores` hold dictionaries.
    - (kernel_c3) `task_table` has an entry for every task: a body, and the index of its first entry in
      `operands`.
    - (kernel_c4) a lane is a range of `instructions`.
    - (kernel_c5) an instruction with opcode 0 runs a range of vCTAs of a task.
    - (kernel_c6) a body has 0 to 2^16 operands.
  }];
  // The attribute is not `sym_name`, so a function beside the kernel may have the same name. No op
  // refers to a kernel by name.
  let arguments = (ins SymbolNameAttr:$program, FlatSymbolRefAttr:$entry, I64Attr:$sms,
                       I64Attr:$arena, ArrayAttr:$bodies, ArrayAttr:$buffers, ArrayAttr:$tasks,
                       ElementsAttr:$operands, ElementsAttr:$task_table,
                       ElementsAttr:$instructions, ElementsAttr:$lanes,
                       ArrayAttr:$semaphores, ElementsAttr:$timeline,
                       OptionalAttr<DictionaryAttr>:$statistics,
                       OptionalAttr<I64Attr>:$ranks, OptionalAttr<I64Attr>:$packets);
  let assemblyFormat = "$program attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The opcode of instructions that run vCTAs. docs/bundle.md lists all opcodes.
    static constexpr int32_t kRunOpcode = 0;
  }];
}

#endif // ARK_SCHEDULE_OPS_TD
