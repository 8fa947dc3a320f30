//===- warpgroups.h - Matrix products of warpgroups -------------*- C++ -*-===//

#ifndef ARK_TESTS_EMULATION_WARPGROUPS_H
#define ARK_TESTS_EMULATION_WARPGROUPS_H

namespace simt {

/// Begins a launch.
void beginWarpgroups(int ctas, int threads);

} // namespace simt

#endif // ARK_TESTS_EMULATION_WARPGROUPS_H
