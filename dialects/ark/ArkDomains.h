//===- ArkDomains.h - NVLink domains of ranks -------------------*- C++ -*-===//

#ifndef ARK_DIALECTS_ARK_ARKDOMAINS_H
#define ARK_DIALECTS_ARK_ARKDOMAINS_H

#include "dialects/ark/ArkOps.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::ark {

/// On a module: the library whose network copies between domains, `nccl` or
/// `mscclpp`. Without the attribute, it is `nccl`.
inline constexpr llvm::StringLiteral kNetworkAttr = "ark.network";
inline constexpr llvm::StringLiteral kNcclNetwork = "nccl";
inline constexpr llvm::StringLiteral kPortChannels = "mscclpp";

/// The NVLink domain of each rank. GPUs of one domain store to each other's
/// memory. Between domains, network adapters copy.
class Domains {
public:
  /// Reads the domains from the module around an op. Without the attribute, all
  /// ranks are in one domain.
  explicit Domains(Operation *op) {
    auto module = op->getParentOfType<ModuleOp>();
    auto attr =
        module
            ? module->getAttrOfType<DenseI64ArrayAttr>(ArkDialect::kDomainsAttr)
            : DenseI64ArrayAttr();
    if (attr)
      domains = attr.asArrayRef();
    auto network =
        module ? module->getAttrOfType<StringAttr>(kNetworkAttr) : StringAttr();
    hasPortChannels = network && network == kPortChannels;
  }

  /// Returns true if ranks have several domains.
  bool areSeveral() const {
    return !domains.empty() && !llvm::all_equal(domains);
  }
  /// Returns true if the GPUs of two ranks cannot store to each other's memory.
  bool areApart(int64_t rank, int64_t other) const {
    return !domains.empty() && domains[rank] != domains[other];
  }
  /// Returns true if port channels of MSCCL++ copy between domains, and false
  /// if NCCL's network does.
  bool usePortChannels() const { return hasPortChannels; }
  /// Returns the number of ranks that have a domain; 0 without the attribute.
  size_t size() const { return domains.size(); }

private:
  ArrayRef<int64_t> domains;
  bool hasPortChannels = false;
};

/// Returns the rank of another domain to which a network adapter copies the
/// result of a group or task, or nothing if SMs compute the result.
template <typename OpT>
std::optional<int64_t> getNetworkPeer(OpT op) {
  DictionaryAttr plan = op.getPlanAttr();
  auto peer =
      plan ? plan.getAs<IntegerAttr>(ArkDialect::kNetworkKey) : IntegerAttr();
  return peer ? std::optional(peer.getInt()) : std::nullopt;
}

} // namespace mlir::ark

#endif // ARK_DIALECTS_ARK_ARKDOMAINS_H
