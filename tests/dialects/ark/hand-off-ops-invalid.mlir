// RUN: ark-opt %s --split-input-file --verify-diagnostics

ark.program @packets_c1() {
  // expected-error @below {{takes more than 2^47 bytes (packets_c1)}}
  %0 = ark.packets : memref<140737488355329xi8>
  ark.return
}

// -----

func.func @elsewhere() {
  // expected-error @below {{expects parent op 'ark.program'}}
  %0 = ark.packets : memref<64xi8>
  return
}

// -----

func.func @receive_packets_c1_shapes(%p: memref<1x16xi32>, %v: memref<16xbf16>) {
  // expected-error @below {{needs packets and values of one static shape (receive_packets_c1)}}
  ark.receive_packets %p to %v : memref<1x16xi32> to memref<16xbf16>
  return
}

// -----

func.func @receive_packets_c1_dynamic(%p: memref<?xi32>, %v: memref<?xbf16>) {
  // expected-error @below {{needs packets and values of one static shape (receive_packets_c1)}}
  ark.receive_packets %p to %v : memref<?xi32> to memref<?xbf16>
  return
}

// -----

func.func @receive_packets_c2_narrow(%p: memref<16xi32>, %v: memref<16xf32>) {
  // expected-error @below {{needs packets of twice the bits of the values (receive_packets_c2)}}
  ark.receive_packets %p to %v : memref<16xi32> to memref<16xf32>
  return
}

// -----

func.func @receive_packets_c2_wide(%p: memref<16xi64>, %v: memref<16xbf16>) {
  // expected-error @below {{needs packets of twice the bits of the values (receive_packets_c2)}}
  ark.receive_packets %p to %v : memref<16xi64> to memref<16xbf16>
  return
}

// -----

func.func @valuesOf64Bits(%p: memref<16xi64>, %v: memref<16xf64>) {
  // expected-error @below {{operand #1 must be memref of bfloat16 type or 16-bit float or 32-bit float values}}
  ark.receive_packets %p to %v : memref<16xi64> to memref<16xf64>
  return
}

// -----

func.func @receive_packets_c3_three(%p: memref<12xi32>, %v: memref<12xbf16>) {
  // expected-error @below {{loads 3 packets at once, not 1, 2 or 4 (receive_packets_c3)}}
  ark.receive_packets %p to %v {per_load = 3 : i64} : memref<12xi32> to memref<12xbf16>
  return
}

// -----

func.func @receive_packets_c3_none(%p: memref<12xi32>, %v: memref<12xbf16>) {
  // expected-error @below {{loads 0 packets at once, not 1, 2 or 4 (receive_packets_c3)}}
  ark.receive_packets %p to %v {per_load = 0 : i64} : memref<12xi32> to memref<12xbf16>
  return
}

// -----

func.func @receive_packets_c3_bytes(%p: memref<12xi64>, %v: memref<12xf32>) {
  // expected-error @below {{loads 4 packets at once, which have more than 16 bytes (receive_packets_c3)}}
  ark.receive_packets %p to %v {per_load = 4 : i64} : memref<12xi64> to memref<12xf32>
  return
}
