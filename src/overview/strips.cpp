#include "overview/strips.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "overview/half.hpp"

namespace hakobi::overview {

namespace {

std::int64_t length(const Box& box, std::size_t direction) {
    return box[direction][1] - box[direction][0];
}

Status read_all(int fd, void* data, std::int64_t num_bytes, std::int64_t offset_bytes) {
    auto* at = static_cast<char*>(data);
    while (num_bytes > 0) {
        const ssize_t count = ::pread(fd, at, static_cast<std::size_t>(num_bytes), offset_bytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return status_of_errno(errno, "cannot read", "the step");
        if (count == 0) return {ErrorCode::format, "shorter than it says: torn, or still being written"};
        at += count;
        num_bytes -= count;
        offset_bytes += count;
    }
    return {};
}

template <class Float>
class InMemory final : public Strips<Float> {
  public:
    InMemory(const Source& source, const Box& box)
        : values_(static_cast<const Float*>(source.values)),
          rows_(length(box, 1)),
          columns_(length(box, 2)) {}

    Result<const Float*> get(std::int64_t plane, std::int64_t first, std::int64_t /*stop*/) override {
        return values_ + (plane * rows_ + first) * columns_;
    }

  private:
    const Float* values_;
    std::int64_t rows_, columns_;
};

/// Rows that lie one behind the other in a file.
template <class Float>
class InFile final : public Strips<Float> {
  public:
    InFile(const Source& source, const Box& box) : source_(source), box_(box) {}

    Result<const Float*> get(std::int64_t plane, std::int64_t first, std::int64_t stop) override {
        std::vector<Float>& buffer = buffers_[turn_ ^= 1U];
        const std::int64_t count = (stop - first) * source_.shape[2];
        buffer.resize(static_cast<std::size_t>(count));
        const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(Float));
        if (Status status = read_all(source_.fd, buffer.data(), bytes, place(plane, first)); !status.ok()) {
            return status;
        }
        for (const double fill : source_.fills) {
            if (fill == fill) std::replace(buffer.begin(), buffer.end(), static_cast<Float>(fill), missing);
        }
        return std::as_const(buffer).data();
    }

    void announce(std::int64_t plane, std::int64_t first, std::int64_t stop) override {
        // The kernel takes no more than its read-ahead window of a request.
        constexpr std::int64_t window_bytes = 128 << 10;
        const std::int64_t end = place(plane, stop);
        for (std::int64_t at = place(plane, first); at < end; at += window_bytes) {
            (void)::posix_fadvise(source_.fd, at, std::min(window_bytes, end - at), POSIX_FADV_WILLNEED);
        }
    }

  private:
    static constexpr Float missing = std::numeric_limits<Float>::quiet_NaN();

    [[nodiscard]] std::int64_t place(std::int64_t plane, std::int64_t row) const {
        const std::int64_t rows = (box_[0][0] + plane) * source_.shape[1] + box_[1][0] + row;
        return source_.offset_bytes + rows * source_.shape[2] * static_cast<std::int64_t>(sizeof(Float));
    }

    const Source& source_;
    const Box& box_;
    std::array<std::vector<Float>, 2> buffers_;
    unsigned turn_ = 0;
};

/// A level's rows from its bricks. Those that a plane of the box goes through are in memory together.
class InBricks final : public Strips<float> {
  public:
    InBricks(const Source& source, const Box& box) : source_(source), box_(box) {
        for (std::size_t d = 0; d < max_dims; ++d) {
            grid_[d] = (source.shape[d] + source.brick[d] - 1) / source.brick[d];
        }
        brick_bytes_ = source.brick[0] * source.brick[1] * source.brick[2] * 2 + checksum_bytes;
    }

    Result<const float*> get(std::int64_t plane, std::int64_t first, std::int64_t stop) override {
        const auto& brick = source_.brick;
        const std::int64_t z = box_[0][0] + plane;
        if (Status status = load(z / brick[0]); !status.ok()) return status;
        std::vector<float>& buffer = buffers_[turn_ ^= 1U];
        const std::int64_t columns = source_.shape[2];
        buffer.resize(static_cast<std::size_t>((stop - first) * columns));
        float* to = buffer.data();
        for (std::int64_t y = box_[1][0] + first; y < box_[1][0] + stop; ++y) {
            const std::int64_t line = (y / brick[1] - first_row_) * grid_[2];
            const std::int64_t within = ((z % brick[0]) * brick[1] + y % brick[1]) * brick[2] * 2;
            for (std::int64_t x = 0; x < columns; x += brick[2]) {
                const std::byte* from = bricks_.data() + (line + x / brick[2]) * brick_bytes_ + within;
                const std::int64_t count = std::min(brick[2], columns - x);
                for (std::int64_t i = 0; i < count; ++i) {
                    Half half = 0;
                    std::memcpy(&half, from + 2 * i, sizeof half);
                    *to++ = float_of(half);
                }
            }
        }
        return std::as_const(buffer).data();
    }

  private:
    Status load(std::int64_t layer) {
        if (layer == layer_) return {};
        layer_ = -1;
        first_row_ = box_[1][0] / source_.brick[1];
        const std::int64_t stop_row = (box_[1][1] + source_.brick[1] - 1) / source_.brick[1];
        const std::int64_t first = (layer * grid_[1] + first_row_) * grid_[2];
        bricks_.resize(static_cast<std::size_t>((stop_row - first_row_) * grid_[2] * brick_bytes_));
        Status status = read_all(source_.fd, bricks_.data(), static_cast<std::int64_t>(bricks_.size()),
                                 source_.offset_bytes + first * brick_bytes_);
        if (status.ok()) layer_ = layer;
        return status;
    }

    const Source& source_;
    const Box& box_;
    Extents grid_{};
    std::int64_t brick_bytes_ = 0, layer_ = -1, first_row_ = 0;
    std::vector<std::byte> bricks_;
    std::array<std::vector<float>, 2> buffers_;
    unsigned turn_ = 0;
};

}  // namespace

template <>
std::unique_ptr<Strips<float>> make_strips<float>(const Source& source, const Box& box) {
    if (source.values != nullptr) return std::make_unique<InMemory<float>>(source, box);
    if (source.type == CellType::half) return std::make_unique<InBricks>(source, box);
    return std::make_unique<InFile<float>>(source, box);
}

template <>
std::unique_ptr<Strips<double>> make_strips<double>(const Source& source, const Box& box) {
    if (source.values != nullptr) return std::make_unique<InMemory<double>>(source, box);
    return std::make_unique<InFile<double>>(source, box);
}

}  // namespace hakobi::overview
