// RUN: ark-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{fragment has [2]; expected two positive numbers}}
func.func private @fragment_c1() attributes {f = #ark.fragment<outer = [2], threads = [8, 4], strides = [4, 1], elements = [1, 2]>}

// -----

// expected-error @below {{fragment has [8, 0]; expected two positive numbers}}
func.func private @fragment_c1_zero() attributes {f = #ark.fragment<outer = [2, 1], threads = [8, 0], strides = [4, 1], elements = [1, 2]>}

// -----

// expected-error @below {{fragment has [65537, 1]; expected numbers of at most 65536}}
func.func private @fragment_c2() attributes {f = #ark.fragment<outer = [65537, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>}

// -----

func.func private @mma_c1() attributes {
  // expected-error @below {{instruction of 16 x 16 x 16 by 1 warps has a fragment without the shape of its matrix}}
  m = #ark.mma<kind = mfma, m = 16, n = 16, k = 16,
    acc = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>}

// -----

func.func private @mma_c2() attributes {
  // expected-error @below {{instruction by 1 warps has a `lhs` and no `rhs`}}
  m = #ark.mma<kind = mma_sync, m = 16, n = 8, k = 8,
    lhs = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>,
    acc = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>}

// -----

// expected-error @below {{matrix tiles have an odd number of entries in `shapes`, a number that is not positive, or a negative `min_stage`, `l2` or `panel`}}
func.func private @matrix_tiles_c1() attributes {t = #ark.matrix_tiles<shapes = [64, 64, 32], depth = 64, tile = 3000, stage_row = 2300>}

// -----

// expected-error @below {{scopes are named '' and 'sys'; expected letters, digits, '_' and '-', and a name for `device`}}
func.func private @scopes_c1() attributes {s = #ark.scopes<device = "", system = "sys">}

// -----

// expected-error @below {{scopes are named 'gpu;' and ''; expected letters, digits, '_' and '-', and a name for `device`}}
func.func private @scopes_c1_letters() attributes {s = #ark.scopes<device = "gpu;">}

// -----

// expected-error @below {{links have bandwidth = 1, sm_bandwidth = 0, message_bandwidth = 1, packet = 0 and message = 0; the first three must be positive}}
func.func private @links_c1() attributes {l = #ark.links<bandwidth = 1, sm_bandwidth = 0, message_bandwidth = 1,
    packet = 0, message = 0>}

// -----

// expected-error @below {{gpu has warp_size = 32, cluster = 0, packet = 0 and l1 = 0; the first two must be positive}}
func.func private @gpu_c1() attributes {g = #ark.gpu<warp_size = 32, cluster = 0>}

// -----

func.func private @gpu_c2() attributes {
  // expected-error @below {{gpu with warps of 64 threads has a fragment of 32 threads}}
  g = #ark.gpu<warp_size = 64, mma = [#ark.mma<kind = wgmma, m = 64, n = 8, k = 16, warps = 4,
    acc = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>]>}

// -----

func.func private @target_attr_c1() attributes {
  // expected-error @below {{target for cpu has a `gpu`}}
  t = #ark.target<backend = cpu, arch = "host", sms = 1, warps = 1, shared_memory = 0, bandwidth = 1, flops = 1,
    handoff = 0, barrier = 0, overhead = 0, gpu = #ark.gpu<warp_size = 32>>}

// -----

func.func private @target_attr_c1_unknown() attributes {
  t = #ark.target<backend = cuda, arch = "sm_75", sms = 1, warps = 1, shared_memory = 0, bandwidth = 1, flops = 1,
    // expected-error @below {{architecture 'sm_75' is not known: state `gpu = #ark.gpu<...>`}}
    handoff = 0, barrier = 0, overhead = 0>}

// -----

func.func private @target_attr_c2() attributes {
  // expected-error @below {{target has sms = 70000; at most 65536 are supported}}
  t = #ark.target<backend = cpu, arch = "host", sms = 70000, warps = 1, shared_memory = 0, bandwidth = 1, flops = 1,
    handoff = 0, barrier = 0, overhead = 0>}
