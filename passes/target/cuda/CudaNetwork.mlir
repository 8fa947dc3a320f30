// Copies and signals to GPUs of other NVLink domains by a network adapter, with the device functions
// of NCCL (GIN). CudaDomains.mlir calls these functions. The bitcode of NCCL is linked later.
//
// A strong signal covers all earlier copies of the lane to the same rank. A fence of the scope of
// the system precedes each copy and signal. It makes visible what the leader has seen, such as the
// result of another SM.

func.func private @ark_network(%context: !llvm.ptr) -> !llvm.ptr

llvm.func @ncclGin_C_init(!llvm.ptr, i32, !llvm.ptr, i32)
llvm.func @ncclCoopAnyInitThread(!llvm.ptr)
llvm.func @ncclGinPut_v3(
    !llvm.ptr, !llvm.ptr {llvm.byval = !llvm.struct<(i32, i32, i32)>}, i32, !llvm.ptr, i64,
    !llvm.ptr, i64, i64, i32, !llvm.ptr, i64, i32, i1 {llvm.zeroext}, i32, i64, i1 {llvm.zeroext},
    i32, !llvm.ptr {llvm.byval = !llvm.struct<(array<16 x i8>, ptr)>}, i1 {llvm.zeroext}, !llvm.ptr,
    i32, i32, i32, i32)
llvm.func @ncclGinPutValue_v3(
    !llvm.ptr, !llvm.ptr {llvm.byval = !llvm.struct<(i32, i32, i32)>}, i32, !llvm.ptr, i64, i64, i64,
    i32, !llvm.ptr, i64, i32, i1 {llvm.zeroext}, i32, i64,
    !llvm.ptr {llvm.byval = !llvm.struct<(array<16 x i8>, ptr)>}, i1 {llvm.zeroext}, !llvm.ptr, i32,
    i32, i32)
llvm.func @ncclGinSignal_v3(
    !llvm.ptr, !llvm.ptr {llvm.byval = !llvm.struct<(i32, i32, i32)>}, i32, i32, !llvm.ptr, i64, i32,
    i1 {llvm.zeroext}, i32, i64, !llvm.ptr {llvm.byval = !llvm.struct<(array<16 x i8>, ptr)>},
    i1 {llvm.zeroext}, !llvm.ptr, i32, i32, i32)

// Initialises the objects that each call of NCCL takes: the context of the network, the team of all
// ranks, and the thread alone as the group of threads. Returns the window.
func.func private @ark_init_network(%context: !llvm.ptr, %gin: !llvm.ptr, %team: !llvm.ptr,
                                    %threads: !llvm.ptr) -> !llvm.ptr {
  %zero = arith.constant 0 : i32
  // The backends of GIN that the communicator may use: all of NCCL 2.32.3.
  %backends = arith.constant 60 : i32
  %network = func.call @ark_network(%context) : (!llvm.ptr) -> !llvm.ptr
  %communicator = llvm.load %network : !llvm.ptr -> !llvm.ptr
  %window_field = llvm.getelementptr %network[kNetworkWindow] : (!llvm.ptr) -> !llvm.ptr, i64
  %window = llvm.load %window_field : !llvm.ptr -> !llvm.ptr
  llvm.call @ncclGin_C_init(%gin, %backends, %communicator, %zero)
      : (!llvm.ptr, i32, !llvm.ptr, i32) -> ()
  %ranks_field = llvm.getelementptr %network[kNetworkRanks] : (!llvm.ptr) -> !llvm.ptr, i64
  %ranks = llvm.load %ranks_field : !llvm.ptr -> i64
  %rank_field = llvm.getelementptr %network[kNetworkRank] : (!llvm.ptr) -> !llvm.ptr, i64
  %rank = llvm.load %rank_field : !llvm.ptr -> i64
  %ranks_i32 = arith.trunci %ranks : i64 to i32
  %rank_i32 = arith.trunci %rank : i64 to i32
  %stride = arith.constant 1 : i32
  %none = llvm.mlir.poison : !llvm.struct<(i32, i32, i32)>
  %with_ranks = llvm.insertvalue %ranks_i32, %none[0] : !llvm.struct<(i32, i32, i32)>
  %with_rank = llvm.insertvalue %rank_i32, %with_ranks[1] : !llvm.struct<(i32, i32, i32)>
  %world = llvm.insertvalue %stride, %with_rank[2] : !llvm.struct<(i32, i32, i32)>
  llvm.store %world, %team : !llvm.struct<(i32, i32, i32)>, !llvm.ptr
  llvm.call @ncclCoopAnyInitThread(%threads) : (!llvm.ptr) -> ()
  return %window : !llvm.ptr
}

// The functions below have local memory for these objects, so they are not inlined: the memory would
// otherwise belong to the kernel.

// Adds one to a counter of a rank by a strong signal, at an address in the window.
func.func private @ark_signal_rank(%context: !llvm.ptr, %rank: i32, %number: i64)
    attributes {passthrough = ["noinline"]} {
  %one = arith.constant 1 : i64
  %gin = llvm.alloca %one x !llvm.array<8 x i64> {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %team = llvm.alloca %one x !llvm.struct<(i32, i32, i32)> : (i64) -> !llvm.ptr
  %threads = llvm.alloca %one x !llvm.struct<(array<16 x i8>, ptr)> {alignment = 16 : i64}
      : (i64) -> !llvm.ptr
  %zero = arith.constant 0 : i32
  %add = arith.constant 1 : i32
  %at_address = arith.constant 1 : i32
  %strong = arith.constant true
  %no = arith.constant false
  %null = llvm.mlir.zero : !llvm.ptr
  %stride = arith.constant kCounterStride : i64
  func.call @ark_release_to_network() : () -> ()
  %window = func.call @ark_init_network(%context, %gin, %team, %threads)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  %network = func.call @ark_network(%context) : (!llvm.ptr) -> !llvm.ptr
  %counters_field = llvm.getelementptr %network[kNetworkCounters] : (!llvm.ptr) -> !llvm.ptr, i64
  %counters = llvm.load %counters_field : !llvm.ptr -> i64
  %bytes = arith.muli %number, %stride : i64
  %offset = arith.addi %counters, %bytes : i64
  llvm.call @ncclGinSignal_v3(%gin, %team, %rank, %at_address, %window, %offset, %zero, %strong,
                              %add, %one, %threads, %no, %null, %zero, %zero, %zero)
      : (!llvm.ptr, !llvm.ptr {llvm.byval = !llvm.struct<(i32, i32, i32)>}, i32, i32, !llvm.ptr,
         i64, i32, i1 {llvm.zeroext}, i32, i64,
         !llvm.ptr {llvm.byval = !llvm.struct<(array<16 x i8>, ptr)>}, i1 {llvm.zeroext}, !llvm.ptr,
         i32, i32, i32) -> ()
  return
}

// Stores a word at an offset in the window of a rank.
func.func private @ark_store_to_rank(%context: !llvm.ptr, %rank: i32, %offset: i64, %value: i64)
    attributes {passthrough = ["noinline"]} {
  %one = arith.constant 1 : i64
  %gin = llvm.alloca %one x !llvm.array<8 x i64> {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %team = llvm.alloca %one x !llvm.struct<(i32, i32, i32)> : (i64) -> !llvm.ptr
  %threads = llvm.alloca %one x !llvm.struct<(array<16 x i8>, ptr)> {alignment = 16 : i64}
      : (i64) -> !llvm.ptr
  %zero = arith.constant 0 : i32
  %size = arith.constant 8 : i64
  %none = arith.constant 0 : i64
  %no = arith.constant false
  %null = llvm.mlir.zero : !llvm.ptr
  %window = func.call @ark_init_network(%context, %gin, %team, %threads)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.call @ncclGinPutValue_v3(%gin, %team, %rank, %window, %offset, %value, %size, %zero, %null,
                                %none, %zero, %no, %zero, %none, %threads, %no, %null, %zero, %zero,
                                %zero)
      : (!llvm.ptr, !llvm.ptr {llvm.byval = !llvm.struct<(i32, i32, i32)>}, i32, !llvm.ptr, i64,
         i64, i64, i32, !llvm.ptr, i64, i32, i1 {llvm.zeroext}, i32, i64,
         !llvm.ptr {llvm.byval = !llvm.struct<(array<16 x i8>, ptr)>}, i1 {llvm.zeroext}, !llvm.ptr,
         i32, i32, i32) -> ()
  return
}

// Copies bytes from the window of this rank to an offset in the window of another rank.
func.func private @ark_copy_to_rank(%context: !llvm.ptr, %rank: i32, %offset: i64,
                                    %source: !llvm.ptr, %bytes: i64)
    attributes {passthrough = ["noinline"]} {
  %one = arith.constant 1 : i64
  %gin = llvm.alloca %one x !llvm.array<8 x i64> {alignment = 16 : i64} : (i64) -> !llvm.ptr
  %team = llvm.alloca %one x !llvm.struct<(i32, i32, i32)> : (i64) -> !llvm.ptr
  %threads = llvm.alloca %one x !llvm.struct<(array<16 x i8>, ptr)> {alignment = 16 : i64}
      : (i64) -> !llvm.ptr
  %zero = arith.constant 0 : i32
  %none = arith.constant 0 : i64
  %no = arith.constant false
  %null = llvm.mlir.zero : !llvm.ptr
  func.call @ark_release_to_network() : () -> ()
  %window = func.call @ark_init_network(%context, %gin, %team, %threads)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  %network = func.call @ark_network(%context) : (!llvm.ptr) -> !llvm.ptr
  %begin_field = llvm.getelementptr %network[kNetworkBegin] : (!llvm.ptr) -> !llvm.ptr, i64
  %begin = llvm.load %begin_field : !llvm.ptr -> i64
  %address = llvm.ptrtoint %source : !llvm.ptr to i64
  %source_offset = arith.subi %address, %begin : i64
  llvm.call @ncclGinPut_v3(%gin, %team, %rank, %window, %offset, %window, %source_offset, %bytes,
                           %zero, %null, %none, %zero, %no, %zero, %none, %no, %zero, %threads, %no,
                           %null, %zero, %zero, %zero, %zero)
      : (!llvm.ptr, !llvm.ptr {llvm.byval = !llvm.struct<(i32, i32, i32)>}, i32, !llvm.ptr, i64,
         !llvm.ptr, i64, i64, i32, !llvm.ptr, i64, i32, i1 {llvm.zeroext}, i32, i64,
         i1 {llvm.zeroext}, i32, !llvm.ptr {llvm.byval = !llvm.struct<(array<16 x i8>, ptr)>},
         i1 {llvm.zeroext}, !llvm.ptr, i32, i32, i32, i32) -> ()
  return
}

func.func private @ark_release_to_network() {
  llvm.inline_asm has_side_effects "fence.acq_rel.<system>;", "~{memory}" : () -> ()
  return
}

// The arrivals may come from another GPU.
func.func private @ark_load_arrivals(%counter: !llvm.ptr) -> i64 {
  %arrivals = llvm.inline_asm has_side_effects "ld.acquire.<system>.u64 $0, [$1];", "=l,l,~{memory}"
      %counter : (!llvm.ptr) -> i64
  return %arrivals : i64
}
