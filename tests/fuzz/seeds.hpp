#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace hakobi::fuzz {

using Bytes = std::vector<std::byte>;

class Seeds {
  public:
    explicit Seeds(std::filesystem::path folder) : folder_(std::move(folder)) {}
    void add(const std::string& target, std::span<const std::byte> bytes) {
        std::filesystem::create_directories(folder_ / target);
        std::ofstream file(folder_ / target / ("seed_" + std::to_string(num_++)), std::ios::binary);
        file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
        if (!file) throw std::runtime_error("cannot write below " + folder_.string());
    }
    void add(const std::string& target, std::string_view text) {
        add(target, std::as_bytes(std::span(text)));
    }

  private:
    std::filesystem::path folder_;
    int num_ = 0;
};

inline Bytes content_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    if (!file) throw std::runtime_error("cannot read " + path.string());
    const std::string text = all.str();
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// A part of an input with its length before it.
template <class Length>
void add_part(Bytes& input, std::span<const std::byte> part) {
    ByteWriter writer;
    writer.put(static_cast<Length>(part.size()));
    const Bytes length = writer.take();
    input.insert(input.end(), length.begin(), length.end());
    input.insert(input.end(), part.begin(), part.end());
}
inline std::span<const std::byte> bytes_in(std::string_view text) {
    return std::as_bytes(std::span(text));
}

/// Adds those of the targets zarr, series, objects, growing and grib.
void add_seeds_of_series(Seeds& seeds);

}  // namespace hakobi::fuzz
