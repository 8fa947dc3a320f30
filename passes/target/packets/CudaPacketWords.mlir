// Stores and loads of task packets, and primitives of warps that poll. The scope is that of all
// ranks of the program: the sender and the receiver may be on different GPUs, and PTX orders two
// relaxed accesses only if the scope of each includes the other thread.

func.func private @ark_send_packet(%word: !llvm.ptr, %packet: i32) {
  llvm.inline_asm has_side_effects "st.relaxed.<ranks>.global.u32 [$0], $1;", "l,r,~{memory}" %word, %packet
      : (!llvm.ptr, i32) -> ()
  return
}

func.func private @ark_send_wide_packet(%word: !llvm.ptr, %packet: i64) {
  llvm.inline_asm has_side_effects "st.relaxed.<ranks>.global.u64 [$0], $1;", "l,l,~{memory}" %word, %packet
      : (!llvm.ptr, i64) -> ()
  return
}

func.func private @ark_load_wide_packet(%word: !llvm.ptr) -> i64 {
  %packet = llvm.inline_asm has_side_effects "ld.relaxed.<ranks>.global.u64 $0, [$1];", "=l,l,~{memory}" %word
      : (!llvm.ptr) -> i64
  return %packet : i64
}

// Loads two wide packets with one vector load.
func.func private @ark_load_wide_packets(%words: !llvm.ptr) -> (i64, i64) {
  %all = llvm.inline_asm has_side_effects "ld.relaxed.<ranks>.global.v2.u64 {$0, $1}, [$2];",
      "=l,=l,l,~{memory}" %words : (!llvm.ptr) -> !llvm.struct<(i64, i64)>
  %a = llvm.extractvalue %all[0] : !llvm.struct<(i64, i64)>
  %b = llvm.extractvalue %all[1] : !llvm.struct<(i64, i64)>
  return %a, %b : i64, i64
}

func.func private @ark_load_packet(%word: !llvm.ptr) -> i32 {
  %packet = llvm.inline_asm has_side_effects "ld.relaxed.<ranks>.global.u32 $0, [$1];", "=r,l,~{memory}" %word
      : (!llvm.ptr) -> i32
  return %packet : i32
}

// Loads two packets with one vector load.
func.func private @ark_load_two_packets(%words: !llvm.ptr) -> (i32, i32) {
  %all = llvm.inline_asm has_side_effects "ld.relaxed.<ranks>.global.v2.u32 {$0, $1}, [$2];",
      "=r,=r,l,~{memory}" %words : (!llvm.ptr) -> !llvm.struct<(i32, i32)>
  %a = llvm.extractvalue %all[0] : !llvm.struct<(i32, i32)>
  %b = llvm.extractvalue %all[1] : !llvm.struct<(i32, i32)>
  return %a, %b : i32, i32
}

// Loads four packets with one vector load.
func.func private @ark_load_packets(%words: !llvm.ptr) -> (i32, i32, i32, i32) {
  %all = llvm.inline_asm has_side_effects "ld.relaxed.<ranks>.global.v4.u32 {$0, $1, $2, $3}, [$4];",
      "=r,=r,=r,=r,l,~{memory}" %words : (!llvm.ptr) -> !llvm.struct<(i32, i32, i32, i32)>
  %a = llvm.extractvalue %all[0] : !llvm.struct<(i32, i32, i32, i32)>
  %b = llvm.extractvalue %all[1] : !llvm.struct<(i32, i32, i32, i32)>
  %c = llvm.extractvalue %all[2] : !llvm.struct<(i32, i32, i32, i32)>
  %d = llvm.extractvalue %all[3] : !llvm.struct<(i32, i32, i32, i32)>
  return %a, %b, %c, %d : i32, i32, i32, i32
}

func.func private @ark_any_of_warp(%predicate: i1) -> i1 {
  %all = arith.constant -1 : i32
  %any = nvvm.vote.sync any %all, %predicate -> i1
  return %any : i1
}

func.func private @ark_warp_size() -> index {
  %size = arith.constant kCudaWarpSize : index
  return %size : index
}
