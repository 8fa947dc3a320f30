// RUN: ark-opt %s --split-input-file --ark-test-print-dependences --verify-diagnostics -o /dev/null

// The transposed view consists of single elements, too many for the analysis to list.
ark.program @tooScattered(%x: memref<8192x8192xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %odd = memref.reinterpret_cast %x to offset: [1], sizes: [8192, 4096], strides: [8192, 2]
    : memref<8192x8192xf32> to memref<8192x4096xf32, strided<[8192, 2], offset: 1>>
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0, 0), [8192, 8192]>] : memref<8192x8192xf32>) {
  ^bb0(%i: index, %a: memref<8192x8192xf32, strided<[8192, 1], offset: ?>>):
    ark.yield
  }
  // expected-remark @below {{dependence of operand 0 on operand 0 of 'a' is not exact: the regions have too many intervals}}
  ark.task "b" grid [1] ins(%odd[#ark.region<(d0) -> (0, 0), [8192, 4096]>] : memref<8192x4096xf32, strided<[8192, 2], offset: 1>>) outs() {
  ^bb0(%i: index, %a: memref<8192x4096xf32, strided<[8192, 2], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @viewWithATooLargeOffset(%y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %offset = arith.constant 9223372036854775807 : index
  // expected-error @below {{lies at an offset of more than 2^47 bytes}}
  %view = memref.view %arena[%offset][] : memref<64xi8> to memref<4xf32>
  ark.task "a" grid [1] ins() outs(%view[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
