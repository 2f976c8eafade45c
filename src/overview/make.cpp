// How an overview comes about: as python/hakobi/post/indexing.py says, in one thread and without a journal.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "overview/checksum.hpp"
#include "overview/fingerprint.hpp"
#include "overview/zarr.hpp"

namespace hakobi::overview {

namespace {

constexpr std::int64_t sample_size = 1
                                     << 17;  // values that percentiles and histogram are taken from, a field

/// A field's values as numbers of its CellType.
class Reader {
  public:
    Reader(int fd, const Field& field) : fd_(fd), field_(field) {}

    template <class Float>
    Status read(std::int64_t first, std::int64_t count, Float* values) const {
        return visit([&]<class Raw>(Raw) -> Status {
            const std::int64_t place = field_.offset_bytes + first * static_cast<std::int64_t>(sizeof(Raw));
            std::vector<Raw> raw(static_cast<std::size_t>(count));
            Status status = read_bytes(raw.data(), count * static_cast<std::int64_t>(sizeof(Raw)), place);
            const bool has_fill = field_.fill == field_.fill;
            const Raw fill = has_fill ? static_cast<Raw>(field_.fill) : Raw{};
            std::ranges::transform(raw, values, [&](Raw value) {
                return has_fill && value == fill ? std::numeric_limits<Float>::quiet_NaN()
                                                 : static_cast<Float>(value);
            });
            return status;
        });
    }

  private:
    template <class Body>
    Status visit(Body&& body) const {
        switch (field_.type) {
            case format::ValueType::float64:
                return body(double{});
            case format::ValueType::float32:
                return body(float{});
            case format::ValueType::int8:
                return body(std::int8_t{});
            case format::ValueType::uint8:
                return body(std::uint8_t{});
            case format::ValueType::int16:
                return body(std::int16_t{});
            case format::ValueType::uint16:
                return body(std::uint16_t{});
            case format::ValueType::int32:
                return body(std::int32_t{});
            case format::ValueType::uint32:
                return body(std::uint32_t{});
            case format::ValueType::int64:
                return body(std::int64_t{});
            case format::ValueType::uint64:
                return body(std::uint64_t{});
        }
        return {ErrorCode::internal, "a field of no type"};
    }

    Status read_bytes(void* data, std::int64_t num_bytes, std::int64_t offset_bytes) const {
        auto* at = static_cast<char*>(data);
        while (num_bytes > 0) {
            const ssize_t count = ::pread(fd_, at, static_cast<std::size_t>(num_bytes), offset_bytes);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return status_of_errno(errno, "cannot read", "the step");
            if (count == 0) return {ErrorCode::format, "the step is shorter than it says"};
            at += count;
            num_bytes -= count;
            offset_bytes += count;
        }
        return {};
    }

    int fd_;
    const Field& field_;
};

/// A few hundred pieces of up to 64 values, evenly over the rows.
Result<std::vector<double>> sample_of(const Reader& reader, const Extents& shape) {
    const std::int64_t width = std::min<std::int64_t>(64, shape[2]), rows = shape[0] * shape[1];
    const std::int64_t count = std::min<std::int64_t>(rows, 256);
    std::vector<double> sample(static_cast<std::size_t>(count * width));
    for (std::int64_t number = 0; number < count; ++number) {
        const std::int64_t row = number * (rows - 1) / std::max<std::int64_t>(1, count - 1);
        const std::int64_t start = (number * 7919) % (shape[2] - width + 1);
        Status status = reader.read(row * shape[2] + start, width, sample.data() + number * width);
        if (!status.ok()) return status;
    }
    return sample;
}

/// Integers become numbers of the unit's type in memory; other values are reduced where they lie.
template <class Float>
Result<std::vector<Float>> converted(const Reader& reader, const Extents& shape, const Box& box) {
    const std::int64_t rows = box[1][1] - box[1][0], cells = rows * shape[2];
    std::vector<Float> values(static_cast<std::size_t>((box[0][1] - box[0][0]) * cells));
    Float* to = values.data();
    for (std::int64_t z = box[0][0]; z < box[0][1]; ++z, to += cells) {
        Status status = reader.read((z * shape[1] + box[1][0]) * shape[2], cells, to);
        if (!status.ok()) return status;
    }
    return values;
}

class Maker {
  public:
    Maker(int step_fd, int target_fd, std::int64_t most_bytes)
        : step_fd_(step_fd), target_fd_(target_fd), most_bytes_(most_bytes), container_(target_fd) {}

    void reserve(Surveyed& field) {
        for (const Level& level : field.levels) {
            field.shards.push_back(container_.reserve(shard_name(field, level.number), level.num_bytes()));
        }
    }

    /// Level 1 tells the extremes: where they are more than halves hold in the scale of the sample, it is made again.
    Status reduce_field(Surveyed& field) {
        Summary summary;
        std::uint32_t crc = 0;
        if (Status status = reduce_level(field, 0, &summary, crc); !status.ok()) return status;
        if (const double scale = widened(field.scaling, summary.low, summary.high);
            scale > field.scaling.scale) {
            field.scaling.scale = scale;
            summary = {};
            if (Status status = reduce_level(field, 0, &summary, crc); !status.ok()) return status;
        }
        crcs_.push_back(crc);
        for (std::size_t k = 1; k < field.levels.size(); ++k) {
            if (Status status = reduce_level(field, k, nullptr, crc); !status.ok()) return status;
            crcs_.push_back(crc);
        }
        const std::int64_t cells = field.shape[0] * field.shape[1] * field.shape[2];
        field.statistics = statistics_of(cells, summary.low, summary.high, summary.sum, summary.num_nan,
                                         std::move(summary.sample));
        field.low = std::move(summary.low);
        field.high = std::move(summary.high);
        return {};
    }

    Status finish(const std::string& source, const std::vector<Surveyed>& fields) {
        std::size_t crc = 0;
        for (const Surveyed& field : fields) {
            for (const Entry& shard : field.shards) container_.complete(shard, crcs_[crc++]);
            write_extremes(container_, field);
        }
        for (const Surveyed& field : fields) write_metadata(container_, field);
        write_groups(container_, fields);
        write_root(container_, source, fields);
        return container_.finish();
    }

  private:
    /// What level 1 finds of a field's values.
    struct Summary {
        std::vector<double> low, high, sample;
        double sum = 0;
        std::int64_t num_nan = 0;
    };

    /// `crc` becomes that of the level's shard.
    Status reduce_level(const Surveyed& field, std::size_t k, Summary* summary, std::uint32_t& crc) {
        const Level& level = field.levels[k];
        const std::int64_t whole = cells_of(field.levels.front()) << (field.is_flat ? 2U : 3U);
        const std::int64_t stride = whole > sample_size ? (whole / sample_size) | 1 : 1;
        const Extents& finer = k == 0 ? field.shape : field.levels[k - 1].shape;
        const bool is_wide = k == 0 && cell_type(field.field.type) == CellType::float64;
        crc = 0;
        for (const Piece& piece : pieces_of(level, finer, field.is_flat, is_wide ? 8 : 4, most_bytes_)) {
            Result<Found> reduced = reduce_piece(field, k, piece, summary != nullptr ? stride : 0);
            if (!reduced.ok()) return reduced.status();
            Found& found = reduced.value();
            crc = crc32(found.bricks, crc);
            container_.put(found.bricks, field.shards[k].offset_bytes + piece.first * level.brick_bytes());
            if (summary == nullptr) continue;
            summary->low.insert(summary->low.end(), found.low.begin(), found.low.end());
            summary->high.insert(summary->high.end(), found.high.begin(), found.high.end());
            summary->sample.insert(summary->sample.end(), found.sample.begin(), found.sample.end());
            summary->sum += found.sum;
            summary->num_nan += found.num_nan;
        }
        const std::vector<std::byte> index = shard_index(level);
        container_.put(index, field.shards[k].offset_bytes + level.num_bricks() * level.brick_bytes());
        crc = crc32(index, crc);
        return {};
    }

    [[nodiscard]] static std::int64_t cells_of(const Level& level) {
        return level.shape[0] * level.shape[1] * level.shape[2];
    }

    Result<Found> reduce_piece(const Surveyed& field, std::size_t k, const Piece& piece,
                               std::int64_t stride) {
        const Level& level = field.levels[k];
        Unit unit{.box = piece.box, .brick = level.brick, .is_flat = field.is_flat, .sample_stride = stride};
        Source source;
        if (k > 0) {
            source = {.type = CellType::half,
                      .shape = field.levels[k - 1].shape,
                      .fd = target_fd_,
                      .offset_bytes = field.shards[k - 1].offset_bytes,
                      .brick = field.levels[k - 1].brick};
            return reduce(source, unit);
        }
        unit.offset = field.scaling.offset;
        unit.scale = field.scaling.scale;
        source = {.type = cell_type(field.field.type),
                  .shape = field.shape,
                  .fd = step_fd_,
                  .offset_bytes = field.field.offset_bytes};
        source.fills[0] = field.field.fill;
        if (field.field.type == format::ValueType::float32 ||
            field.field.type == format::ValueType::float64) {
            return reduce(source, unit);
        }
        const Reader reader(step_fd_, field.field);
        const auto reduce_values = [&](const auto& values) -> Result<Found> {
            if (!values.ok()) return values.status();
            source.values = values.value().data();
            return reduce(source, unit);
        };
        if (source.type == CellType::float64) {
            return reduce_values(converted<double>(reader, field.shape, piece.box));
        }
        return reduce_values(converted<float>(reader, field.shape, piece.box));
    }

    int step_fd_, target_fd_;
    std::int64_t most_bytes_;
    Container container_;
    std::vector<std::uint32_t> crcs_;
};

Surveyed described(Field field) {
    Surveyed result{.field = std::move(field)};
    result.is_flat = result.field.axes.size() == 2;
    result.shape[0] = 1;
    for (std::size_t d = 0; d < result.field.axes.size(); ++d) {
        result.shape[d + (result.is_flat ? 1 : 0)] = result.field.axes[d].length;
    }
    result.levels = levels_of(result.shape, result.is_flat);
    return result;
}

}  // namespace

CellType cell_type(format::ValueType type) {
    return type == format::ValueType::float32 || format::bytes_of(type) <= 2 ? CellType::float32
                                                                             : CellType::float64;
}

Status make_overview(int step_fd, const std::string& name, std::vector<Field> fields, int target_fd,
                     std::int64_t most_bytes) {
    struct stat info {};
    if (::fstat(step_fd, &info) != 0) return status_of_errno(errno, "cannot read", name);
    std::ranges::sort(fields, {}, &Field::name);
    Maker maker(step_fd, target_fd, most_bytes);
    std::vector<Surveyed> all;
    for (Field& field : fields) {
        all.push_back(described(std::move(field)));
        Result<std::vector<double>> sample = sample_of(Reader(step_fd, all.back().field), all.back().shape);
        if (!sample.ok()) return sample.status();
        all.back().scaling = scaling_of(std::move(sample).value());
        maker.reserve(all.back());
    }
    for (Surveyed& field : all) {
        if (Status status = maker.reduce_field(field); !status.ok()) return status;
    }
    const std::int64_t mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
    const std::string source = R"({"name":)" + json(name) + R"(,"num_bytes":)" +
                               std::to_string(info.st_size) + R"(,"mtime_ns":)" + std::to_string(mtime_ns) +
                               R"(,"content":")" + fingerprint(step_fd, info.st_size) + R"("})";
    return maker.finish(source, all);
}

}  // namespace hakobi::overview
