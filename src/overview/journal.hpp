#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/descriptor.hpp"
#include "overview/reduce.hpp"

namespace hakobi::overview {

/// A piece that is in the target file: the CRC-32 of its bricks and what was found of its values.
struct Done {
    std::uint32_t crc = 0;
    Found found;  ///< without the bricks
};

/// The pieces that a killed earlier run left, and those that this run adds. A head line, then a record a
/// piece, each with its length and checksum: records behind a torn one do not count. Any thread may call.
class Journal {
  public:
    /// Opens the file for `head`; another head's records go. "": there is none, and nothing is kept.
    Status open(const std::string& path, const std::string& head);
    /// The piece that `key` names; null where it is still to be done.
    [[nodiscard]] const Done* find(const std::string& key) const;
    void add(const std::string& key, const Done& done);

  private:
    Descriptor file_;
    std::map<std::string, Done> known_;
    std::mutex mutex_;
};

}  // namespace hakobi::overview
