// How a step's overview comes about:
//  1. A sample of each field determines offset and scale. The extremes that level 1 finds widen it where
//     halves would not hold them: then level 1 is made again.
//  2. Level 1 is reduced from the step, each coarser level from the one before it in the target file, in
//     pieces that threads take as they come. A piece becomes one contiguous part of the target.
//  3. The findings of a piece become a record of the journal, where there is one.
//  4. Metadata and directory are written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>

#include "base/crc.hpp"
#include "overview/fingerprint.hpp"
#include "overview/journal.hpp"
#include "overview/zarr.hpp"

namespace hakobi::overview {

namespace {

constexpr std::int64_t sample_size =
    1 << 17;  // values of a field that percentiles and histogram are taken from

/// A field's values as numbers of its CellType.
class Reader {
  public:
    Reader(int fd, const Field& field, const Extents& shape) : fd_(fd), field_(field), shape_(shape) {}

    /// A box of one time, whole rows or parts of one.
    template <class Float>
    Status read(std::int64_t time, const Box& box, Float* to) const {
        if (field_.read) return field_.read(time, box, to);
        const bool is_whole = box[2][1] - box[2][0] == shape_[2];
        const std::int64_t rows = is_whole ? box[1][1] - box[1][0] : 1;
        const std::int64_t count = rows * (box[2][1] - box[2][0]);
        for (std::int64_t z = box[0][0]; z < box[0][1]; ++z) {
            for (std::int64_t y = box[1][0]; y < box[1][1]; y += rows, to += count) {
                Status status = read_run(time, (z * shape_[1] + y) * shape_[2] + box[2][0], count, to);
                if (!status.ok()) return status;
            }
        }
        return {};
    }

  private:
    template <class Float>
    Status read_run(std::int64_t time, std::int64_t first, std::int64_t count, Float* values) const {
        return visit([&]<class Raw>(Raw) -> Status {
            const std::int64_t place = field_.offset_bytes + time * field_.time_stride_bytes +
                                       first * static_cast<std::int64_t>(sizeof(Raw));
            std::vector<Raw> raw(static_cast<std::size_t>(count));
            Status status = read_bytes(raw.data(), count * static_cast<std::int64_t>(sizeof(Raw)), place);
            std::ranges::transform(raw, values, [](Raw value) { return static_cast<Float>(value); });
            for (const double fill : {field_.fill, field_.missing}) {
                if (fill != fill) continue;
                for (std::size_t i = 0; i < raw.size(); ++i) {
                    if (raw[i] == static_cast<Raw>(fill)) values[i] = std::numeric_limits<Float>::quiet_NaN();
                }
            }
            return status;
        });
    }

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
            if (count == 0)
                return {ErrorCode::format, "the step is shorter than it says: torn, or still being written"};
            at += count;
            num_bytes -= count;
            offset_bytes += count;
        }
        return {};
    }

    int fd_;
    const Field& field_;
    const Extents& shape_;
};

/// A few hundred pieces of up to 64 values, evenly over the times and rows.
template <class Float>
Result<std::vector<double>> sample_of(const Reader& reader, const Extents& shape, std::int64_t num_times) {
    const std::int64_t width = std::min<std::int64_t>(64, shape[2]);
    const std::int64_t rows = num_times * shape[0] * shape[1], count = std::min<std::int64_t>(rows, 256);
    std::vector<Float> sample(static_cast<std::size_t>(count * width));
    for (std::int64_t number = 0; number < count; ++number) {
        const std::int64_t row = number * (rows - 1) / std::max<std::int64_t>(1, count - 1);
        const std::int64_t start = (number * 7919) % (shape[2] - width + 1);
        const std::int64_t z = row / shape[1] % shape[0], y = row % shape[1];
        const Box box{{{z, z + 1}, {y, y + 1}, {start, start + width}}};
        Status status = reader.read(row / shape[1] / shape[0], box, sample.data() + number * width);
        if (!status.ok()) return status;
    }
    return std::vector<double>(sample.begin(), sample.end());
}

class Maker {
  public:
    Maker(int step_fd, int target_fd, std::int64_t most_bytes, const Work& work)
        : step_fd_(step_fd),
          target_fd_(target_fd),
          most_bytes_(most_bytes),
          work_(work),
          container_(target_fd) {}

    /// Offset, scale and places.
    Status begin(Surveyed& field) {
        const Reader reader(step_fd_, field.field, field.shape);
        const auto num_times = static_cast<std::int64_t>(field.times.size());
        Result<std::vector<double>> sample = cell_type(field.field.type) == CellType::float64
                                                 ? sample_of<double>(reader, field.shape, num_times)
                                                 : sample_of<float>(reader, field.shape, num_times);
        if (!sample.ok()) return sample.status();
        field.scaling = scaling_of(std::move(sample).value());
        head_ += ' ';
        head_ += json(field.scaling.offset) + "/" + json(field.scaling.scale);
        for (std::size_t time = 0; time < field.times.size(); ++time) {
            for (const Level& level : field.levels) {
                field.times[time].shards.push_back(
                    container_.reserve(shard_name(field, level.number, time), level.num_bytes()));
                head_ += ' ';
                head_ += std::to_string(field.times[time].shards.back().offset_bytes);
            }
            field.times[time].crcs.resize(field.levels.size());
        }
        return {};
    }

    Status open_journal() { return journal_.open(work_.journal, work_.journal_head + head_); }

    /// Level 1 tells the extremes: where they are more than halves hold in the scale of the sample, it is
    /// made again.
    Status reduce_field(Surveyed& field) {
        std::vector<Summary> summaries(field.times.size());
        if (Status status = reduce_first(field, summaries); !status.ok()) return status;
        double scale = field.scaling.scale;
        for (const Summary& summary : summaries) {
            scale = std::max(scale, widened(field.scaling, summary.low, summary.high));
        }
        if (scale > field.scaling.scale) {
            field.scaling.scale = scale;
            if (Status status = reduce_first(field, summaries); !status.ok()) return status;
        }
        const std::int64_t cells = field.shape[0] * field.shape[1] * field.shape[2];
        for (std::size_t time = 0; time < field.times.size(); ++time) {
            for (std::size_t k = 1; k < field.levels.size(); ++k) {
                if (Status status = reduce_level(field, time, k, nullptr); !status.ok()) return status;
            }
            Summary& summary = summaries[time];
            field.times[time].statistics = statistics_of(cells, summary.low, summary.high, summary.sum,
                                                         summary.num_nan, std::move(summary.sample));
            field.times[time].low = std::move(summary.low);
            field.times[time].high = std::move(summary.high);
        }
        return {};
    }

    Status finish(const StepFile& source, const std::vector<Surveyed>& fields) {
        for (const Surveyed& field : fields) {
            for (std::size_t time = 0; time < field.times.size(); ++time) {
                for (std::size_t k = 0; k < field.levels.size(); ++k) {
                    container_.complete(field.times[time].shards[k], field.times[time].crcs[k]);
                }
                write_extremes(container_, field, time);
            }
        }
        for (const Surveyed& field : fields) write_metadata(container_, field);
        write_groups(container_, fields);
        write_root(container_, source, fields);
        return container_.finish();
    }

  private:
    /// Level 1's findings on a field's values.
    struct Summary {
        std::vector<double> low, high, sample;
        double sum = 0;
        std::int64_t num_nan = 0;
    };

    Status reduce_first(Surveyed& field, std::vector<Summary>& summaries) {
        for (std::size_t time = 0; time < summaries.size(); ++time) {
            summaries[time] = {};
            if (Status status = reduce_level(field, time, 0, &summaries[time]); !status.ok()) return status;
        }
        return {};
    }

    Status reduce_level(Surveyed& field, std::size_t time, std::size_t k, Summary* summary) {
        const Level& level = field.levels[k];
        const Entry& shard = field.times[time].shards[k];
        const Extents& finer = k == 0 ? field.shape : field.levels[k - 1].shape;
        const bool is_wide = k == 0 && cell_type(field.field.type) == CellType::float64;
        const std::vector<Piece> pieces =
            pieces_of(level, finer, field.is_flat, is_wide ? 8 : 4, most_bytes_);
        std::vector<Done> all(pieces.size());
        Status status = for_each(pieces.size(), [&](std::size_t i) -> Status {
            Result<Done> done = piece_done(field, time, k, pieces[i]);
            if (!done.ok()) return done.status();
            all[i] = std::move(done).value();
            return {};
        });
        if (!status.ok()) return status;
        std::uint32_t& crc = field.times[time].crcs[k] = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::int64_t next = i + 1 < all.size() ? pieces[i + 1].first : level.num_bricks();
            crc = combined_crc32(crc, all[i].crc, (next - pieces[i].first) * level.brick_bytes());
            if (summary == nullptr) continue;
            const Found& found = all[i].found;
            summary->low.insert(summary->low.end(), found.low.begin(), found.low.end());
            summary->high.insert(summary->high.end(), found.high.begin(), found.high.end());
            summary->sample.insert(summary->sample.end(), found.sample.begin(), found.sample.end());
            summary->sum += found.sum;
            summary->num_nan += found.num_nan;
        }
        const std::vector<std::byte> index = shard_index(level);
        container_.put(index, shard.offset_bytes + level.num_bricks() * level.brick_bytes());
        crc = crc32(index, crc);
        return {};
    }

    /// Does `body` for 0 to count - 1, by the threads; the first failure ends all.
    template <class Body>
    Status for_each(std::size_t count, Body&& body) {
        std::atomic<std::size_t> next{0};
        std::vector<Status> ends(std::min(count, static_cast<std::size_t>(std::max(1, work_.num_threads))));
        const auto run = [&](Status& end) {
            try {
                for (std::size_t i = 0; end.ok() && (i = next++) < count;) {
                    end = is_stopped() ? Status(ErrorCode::internal, "interrupted") : body(i);
                }
            } catch (const std::bad_alloc&) {
                end = {ErrorCode::out_of_memory, "out of memory"};
            } catch (const std::exception& error) {
                end = {ErrorCode::internal, error.what()};
            }
            if (!end.ok()) next = count;
        };
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < ends.size(); ++i) others.emplace_back(run, std::ref(ends[i]));
        if (!ends.empty()) run(ends[0]);
        others.clear();
        Status status;
        for (Status& end : ends) status.keep_first(std::move(end));
        return status;
    }

    [[nodiscard]] bool is_stopped() const { return work_.stop != nullptr && *work_.stop != 0; }

    Result<Done> piece_done(const Surveyed& field, std::size_t time, std::size_t k, const Piece& piece) {
        const std::string key = std::to_string(time) + " " + std::to_string(k) + " " +
                                std::to_string(piece.first) + " " + json(field.scaling.scale) + " " +
                                field.field.name;
        if (const Done* known = journal_.find(key)) return *known;
        Result<Found> reduced = reduce_piece(field, time, k, piece);
        if (!reduced.ok()) return reduced.status();
        Done done{.crc = crc32(reduced.value().bricks), .found = std::move(reduced).value()};
        const std::int64_t place =
            field.times[time].shards[k].offset_bytes + piece.first * field.levels[k].brick_bytes();
        if (Status status = write_all(target_fd_, done.found.bricks, place); !status.ok()) return status;
        // Under way while the next piece is read: the last fsync has little left to do.
        (void)::sync_file_range(target_fd_, place, static_cast<off64_t>(done.found.bricks.size()),
                                SYNC_FILE_RANGE_WRITE);
        done.found.bricks = {};
        journal_.add(key, done);
        return done;
    }

    Result<Found> reduce_piece(const Surveyed& field, std::size_t time, std::size_t k, const Piece& piece) {
        const Level& level = field.levels[k];
        Unit unit{.box = piece.box, .brick = level.brick, .is_flat = field.is_flat};
        if (k > 0) {
            return reduce({.type = CellType::half,
                           .shape = field.levels[k - 1].shape,
                           .fd = target_fd_,
                           .offset_bytes = field.times[time].shards[k - 1].offset_bytes,
                           .brick = field.levels[k - 1].brick},
                          unit);
        }
        const std::int64_t whole = (level.shape[0] * level.shape[1] * level.shape[2])
                                   << (field.is_flat ? 2U : 3U);
        unit.sample_stride = whole > sample_size ? (whole / sample_size) | 1 : 1;
        unit.offset = field.scaling.offset;
        unit.scale = field.scaling.scale;
        const auto number = static_cast<std::int64_t>(time);
        const format::ValueType type = field.field.type;
        const Source source{.type = cell_type(type),
                            .shape = field.shape,
                            .fd = step_fd_,
                            .offset_bytes = field.field.offset_bytes + number * field.field.time_stride_bytes,
                            .fills = {field.field.fill, field.field.missing}};
        const bool is_float = type == format::ValueType::float32 || type == format::ValueType::float64;
        if (is_float && !field.field.read) return reduce(source, unit);
        return source.type == CellType::float64 ? reduce_read<double>(field, number, source, unit)
                                                : reduce_read<float>(field, number, source, unit);
    }

    /// Values that do not lie in the file as they are.
    template <class Float>
    Result<Found> reduce_read(const Surveyed& field, std::int64_t time, Source source, const Unit& unit) {
        const auto extent = [&](std::size_t d) { return unit.box[d][1] - unit.box[d][0]; };
        std::vector<Float> values(static_cast<std::size_t>(extent(0) * extent(1) * extent(2)));
        const Reader reader(step_fd_, field.field, field.shape);
        if (Status status = reader.read(time, unit.box, values.data()); !status.ok()) return status;
        source.values = values.data();
        return reduce(source, unit);
    }

    int step_fd_, target_fd_;
    std::int64_t most_bytes_;
    const Work& work_;
    Container container_;
    Journal journal_;
    std::string head_;  // of the journal: what the fields are
};

Surveyed described(Field field) {
    Surveyed result{.field = std::move(field)};
    result.is_flat = result.field.axes.size() == 2;
    result.shape[0] = 1;
    for (std::size_t d = 0; d < result.field.axes.size(); ++d) {
        result.shape[d + (result.is_flat ? 1 : 0)] = result.field.axes[d].length;
    }
    result.levels = levels_of(result.shape, result.is_flat);
    result.times.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, result.field.num_times)));
    return result;
}

}  // namespace

CellType cell_type(format::ValueType type) {
    switch (type) {
        case format::ValueType::float32:
        case format::ValueType::int8:
        case format::ValueType::uint8:
        case format::ValueType::int16:
        case format::ValueType::uint16:
            return CellType::float32;
        default:
            return CellType::float64;
    }
}

Status make_overview(int step_fd, const std::string& name, std::vector<Field> fields, int target_fd,
                     std::int64_t most_bytes, const Work& work) {
    struct stat info {};
    if (::fstat(step_fd, &info) != 0) return status_of_errno(errno, "cannot read", name);
    std::ranges::sort(fields, {}, &Field::name);
    Maker maker(step_fd, target_fd, most_bytes, work);
    std::vector<Surveyed> all;
    for (Field& field : fields) {
        all.push_back(described(std::move(field)));
        if (Status status = maker.begin(all.back()); !status.ok()) return status;
    }
    if (Status status = maker.open_journal(); !status.ok()) return status;
    for (Surveyed& field : all) {
        if (Status status = maker.reduce_field(field); !status.ok()) return status;
    }
    const std::int64_t mtime_ns = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
    return maker.finish({name, info.st_size, mtime_ns, fingerprint(step_fd, info.st_size)}, all);
}

}  // namespace hakobi::overview
