// Tensor maps, with which sm_90a copies boxes of operands to shared memory.
//
// Every lane builds its own maps when it begins, from a table and from the addresses of this
// launch. The host may hence bind any buffer and needs no code for tensor maps.
// ark-build-tensor-maps builds the functions that are only declared here.
//
// A map lies in global memory. The kernel fills an all-zero map in shared memory and then
// copies it to global memory.

// Maps of all lanes, grouped by lane, and the number of maps per lane.
func.func private @ark_tensor_maps() -> !llvm.ptr<1>
func.func private @ark_tensor_map_count() -> i64
// Index of the first map of every task.
func.func private @ark_tensor_map_firsts() -> !llvm.ptr<4>
// A record per map: slot and offset of the operand, columns, rows, bytes from one row to the next,
// and rows per copy.
func.func private @ark_tensor_map_records() -> !llvm.ptr<1>
// Address in shared memory of the scratch maps, one per warp. Shared memory holds nothing else when
// a lane begins.
func.func private @ark_tensor_map_scratch() -> !llvm.ptr<3>
// Number of warps that build maps.
func.func private @ark_tensor_map_warps() -> i64
func.func private @ark_sync_warp()

// Returns the address of map `number` of a lane.
func.func private @ark_tensor_maps_of(%lane: i64, %number: i64) -> !llvm.ptr<1> {
  %bytes = arith.constant kTensorMapBytes : i64
  %all = func.call @ark_tensor_maps() : () -> !llvm.ptr<1>
  %count = func.call @ark_tensor_map_count() : () -> i64
  %before = arith.muli %lane, %count : i64
  %index = arith.addi %before, %number : i64
  %offset = arith.muli %index, %bytes : i64
  %map = llvm.getelementptr %all[%offset] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i8
  return %map : !llvm.ptr<1>
}

// Called by bodies. Returns the address of map `number` of a task.
func.func private @ark_tensor_map(%task: index, %number: index) -> i64 {
  %task_i64 = arith.index_cast %task : index to i64
  %number_i64 = arith.index_cast %number : index to i64
  %firsts = func.call @ark_tensor_map_firsts() : () -> !llvm.ptr<4>
  %first_field = llvm.getelementptr %firsts[%task_i64] : (!llvm.ptr<4>, i64) -> !llvm.ptr<4>, i32
  %first_i32 = llvm.load %first_field : !llvm.ptr<4> -> i32
  %first = arith.extui %first_i32 : i32 to i64
  %index = arith.addi %first, %number_i64 : i64
  %block = gpu.block_id x
  %lane = arith.index_cast %block : index to i64
  %map = func.call @ark_tensor_maps_of(%lane, %index) : (i64, i64) -> !llvm.ptr<1>
  %generic = llvm.addrspacecast %map : !llvm.ptr<1> to !llvm.ptr
  %address = llvm.ptrtoint %generic : !llvm.ptr to i64
  return %address : i64
}

// Called by one thread. Fills an all-zero map for 16-bit elements, in rows of 128 bytes with the
// 128-byte swizzle that warpgroup instructions read.
func.func private @ark_fill_tensor_map(%map: !llvm.ptr<3>, %address: i64, %columns: i32,
                                       %rows: i32, %stride: i64, %box_rows: i32) {
  llvm.inline_asm has_side_effects "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [$0], $1;",
      "l,l,~{memory}" %map, %address : (!llvm.ptr<3>, i64) -> ()
  // The field holds the rank minus one: two dimensions.
  llvm.inline_asm has_side_effects "tensormap.replace.tile.rank.shared::cta.b1024.b32 [$0], 1;",
      "l,~{memory}" %map : (!llvm.ptr<3>) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [$0], 0, 64;",
      "l,~{memory}" %map : (!llvm.ptr<3>) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [$0], 1, $1;",
      "l,r,~{memory}" %map, %box_rows : (!llvm.ptr<3>, i32) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [$0], 0, $1;",
      "l,r,~{memory}" %map, %columns : (!llvm.ptr<3>, i32) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [$0], 1, $1;",
      "l,r,~{memory}" %map, %rows : (!llvm.ptr<3>, i32) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [$0], 0, $1;",
      "l,l,~{memory}" %map, %stride : (!llvm.ptr<3>, i64) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [$0], 0, 1;",
      "l,~{memory}" %map : (!llvm.ptr<3>) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [$0], 1, 1;",
      "l,~{memory}" %map : (!llvm.ptr<3>) -> ()
  // Element type u16, no interleave, 128-byte swizzle, zero fill out of bounds.
  llvm.inline_asm has_side_effects "tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [$0], 1;",
      "l,~{memory}" %map : (!llvm.ptr<3>) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [$0], 0;",
      "l,~{memory}" %map : (!llvm.ptr<3>) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [$0], 3;",
      "l,~{memory}" %map : (!llvm.ptr<3>) -> ()
  llvm.inline_asm has_side_effects "tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [$0], 0;",
      "l,~{memory}" %map : (!llvm.ptr<3>) -> ()
  return
}

// Called by all threads when the lane begins. The warps build the maps in round-robin order.
func.func private @ark_make_tensor_maps(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  %zero = arith.constant 0 : i32
  %none = arith.constant 0 : i64
  %size = arith.constant kCudaWarpSize : i64
  %words = arith.constant kTensorMapWords : i64
  %bytes = arith.constant kTensorMapBytes : i32
  %bytes_i64 = arith.constant kTensorMapBytes : i64
  %thread = gpu.thread_id x
  %thread_i64 = arith.index_cast %thread : index to i64
  %warp = arith.divui %thread_i64, %size : i64
  %in_warp = arith.remui %thread_i64, %size : i64
  %leads = arith.cmpi eq, %in_warp, %none : i64
  %scratch = func.call @ark_tensor_map_scratch() : () -> !llvm.ptr<3>
  %before = arith.muli %warp, %bytes_i64 : i64
  %own = llvm.getelementptr %scratch[%before] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
  %word = llvm.getelementptr %own[%in_warp] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i32
  %buffers = llvm.load %context : !llvm.ptr -> !llvm.ptr
  %records = func.call @ark_tensor_map_records() : () -> !llvm.ptr<1>
  %count = func.call @ark_tensor_map_count() : () -> i64
  %warps = func.call @ark_tensor_map_warps() : () -> i64
  cf.br ^next(%warp : i64)

^next(%number: i64):
  %more = arith.cmpi ult, %number, %count : i64
  cf.cond_br %more, ^clear, ^finish

^clear:
  llvm.store %zero, %word : i32, !llvm.ptr<3>
  func.call @ark_sync_warp() : () -> ()
  cf.cond_br %leads, ^fill, ^copy

^fill:
  %first = arith.muli %number, %words : i64
  %record = llvm.getelementptr %records[%first] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, i64
  %slot = llvm.load %record : !llvm.ptr<1> -> i64
  %offset_field = llvm.getelementptr %record[kTensorMapOffset] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
  %offset = llvm.load %offset_field : !llvm.ptr<1> -> i64
  %columns_field = llvm.getelementptr %record[kTensorMapColumns] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
  %columns = llvm.load %columns_field : !llvm.ptr<1> -> i64
  %rows_field = llvm.getelementptr %record[kTensorMapRows] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
  %rows = llvm.load %rows_field : !llvm.ptr<1> -> i64
  %stride_field = llvm.getelementptr %record[kTensorMapStride] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
  %stride = llvm.load %stride_field : !llvm.ptr<1> -> i64
  %box_field = llvm.getelementptr %record[kTensorMapBoxRows] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i64
  %box = llvm.load %box_field : !llvm.ptr<1> -> i64
  %buffer_field = llvm.getelementptr %buffers[%slot] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %buffer = llvm.load %buffer_field : !llvm.ptr -> i64
  %address = arith.addi %buffer, %offset : i64
  %columns_i32 = arith.trunci %columns : i64 to i32
  %rows_i32 = arith.trunci %rows : i64 to i32
  %box_i32 = arith.trunci %box : i64 to i32
  func.call @ark_fill_tensor_map(%own, %address, %columns_i32, %rows_i32, %stride, %box_i32)
      : (!llvm.ptr<3>, i64, i32, i32, i64, i32) -> ()
  cf.br ^copy

^copy:
  func.call @ark_sync_warp() : () -> ()
  %map = func.call @ark_tensor_maps_of(%lane, %number) : (i64, i64) -> !llvm.ptr<1>
  llvm.inline_asm has_side_effects
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.<device>.sync.aligned [$0], [$1], 128;",
      "l,l,~{memory}" %map, %own : (!llvm.ptr<1>, !llvm.ptr<3>) -> ()
  // The copy engine has its own cache of maps, hence the acquire of the tensormap proxy. The
  // barrier below extends the acquire to all threads that copy.
  %generic = llvm.addrspacecast %map : !llvm.ptr<1> to !llvm.ptr
  nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %generic, %bytes
  // The warp must not clear the scratch map before all of its threads have copied it.
  func.call @ark_sync_warp() : () -> ()
  %next = arith.addi %number, %warps : i64
  cf.br ^next(%next : i64)

^finish:
  gpu.barrier
  return
}
