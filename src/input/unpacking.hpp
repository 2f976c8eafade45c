#pragma once

#include <cstddef>
#include <memory>

#include "base/status.hpp"
#include "format/found_step.hpp"
#include "input/destination.hpp"

namespace hakobi::input {

/// A read of values that the file has in another type: they are read to memory of their own, and from there
/// unpacked to where they are wanted. All is local.
class Unpacking {
  public:
    /// Takes the memory. `to` has a packing, and is on the host.
    Unpacking(Destination to, const format::FoundField& field);
    /// Where the values of the file's type go, before `unpack`.
    [[nodiscard]] Destination packed() const;
    void unpack() const noexcept;

  private:
    Destination to_;
    format::ValueType stored_;
    std::optional<FillValue> fill_;
    std::unique_ptr<std::byte[]> values_;
};

/// `unsupported`, for memory of a device.
[[nodiscard]] Status no_unpacking_on_device(const format::FoundField& field);

}  // namespace hakobi::input
