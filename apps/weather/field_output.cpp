#include "field_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <hakobi/error.hpp>

#include "start.hpp"

namespace hakobi::weather {
namespace {

/// Spectral quantities by their parameter's number.
constexpr int spectral_params[] = {138 /* vorticity */, 155 /* divergence */, 129 /* geopotential */,
                                   1 /* stream function */, 2 /* velocity potential */};
constexpr int param_u = 131, param_v = 132, param_speed = 10;
constexpr std::size_t fields_each = 4;  // of a batch, to every encoder

/// A level that is written: its key, and between which two of the model's it lies.
struct WrittenLevel {
    const char* levtype = "ml";
    int levelist = 1;
    int above = 0, below = 0;
    double part = 0;  ///< of `below`
};

std::vector<WrittenLevel> written_levels(int num_levels, int num_pressure_levels) {
    std::vector<WrittenLevel> levels;
    for (int k = 0; k < num_levels; ++k) levels.push_back({"ml", k + 1, k, k, 0});
    const std::vector<double> pressure = level_pressures(num_levels);
    for (int i = 0; i < num_pressure_levels; ++i) {
        // From 10 to 1000 hPa, whole numbers that differ.
        const int hpa = num_pressure_levels == 1 ? 500 : 10 + i * 990 / (num_pressure_levels - 1);
        const double at = std::clamp<double>(hpa, pressure.front(), pressure.back());
        int below = 0;
        while (below + 1 < num_levels && pressure[static_cast<std::size_t>(below)] < at) ++below;
        const int above = std::max(0, below - 1);
        const double high = pressure[static_cast<std::size_t>(above)],
                     low = pressure[static_cast<std::size_t>(below)];
        levels.push_back({"pl", hpa, above, below, above == below ? 0 : (at - high) / (low - high)});
    }
    return levels;
}

std::vector<double> vertical_of(int num_levels) {
    std::vector<double> both(static_cast<std::size_t>(2 * (num_levels + 1)), 0);
    for (int k = 0; k <= num_levels; ++k)
        both[static_cast<std::size_t>(num_levels + 1 + k)] = static_cast<double>(k) / num_levels;
    return both;
}

/// A field of a batch: what it is called, and this rank's part of it.
struct Part {
    Key key;
    bool is_spectral = false;
    std::vector<double> values;
};

/// One message on its way to a writer.
struct Message {
    Key key;
    bool is_spectral = false;
    std::vector<std::byte> bytes;
};

void append(std::vector<char>& to, const void* from, std::size_t count) {
    const auto* bytes = static_cast<const char*>(from);
    to.insert(to.end(), bytes, bytes + count);
}

}  // namespace

struct FieldOutput::Impl {
    ShallowWater& model;
    MPI_Comm comm;
    MPI_Comm group = MPI_COMM_NULL;  ///< a writer, first, and those that hand over to it
    int rank = 0, size = 1, stride = 1, num_encoders = 1;
    std::vector<WrittenLevel> levels;
    int num_grid_pressure_levels = 0;
    std::vector<std::int64_t> band_points, wave_values;  ///< of every rank: what it has of a field
    std::unique_ptr<GribEncoder> grid_encoder, spectral_encoder;
    std::unique_ptr<Sink> sink;
    Key constant;
    OutputTotals totals;
    ErrorCode failed = ErrorCode::ok;  ///< this rank's first error; it goes on with nothing until all agree
    std::string failed_text;
    std::vector<Part> batch;

    Impl(ShallowWater& of, MPI_Comm on) : model(of), comm(on) {}

    template <class Call>
    void attempt(Call call) {
        if (failed != ErrorCode::ok) return;
        try {
            call();
        } catch (const Error& error) {
            failed = error.code();
            failed_text = error.what();
        } catch (const std::bad_alloc&) {
            failed = ErrorCode::out_of_memory;
            failed_text = "no memory for a field";
        }
    }
    void agree();
    [[nodiscard]] Key key_of(const WrittenLevel& level, int param, int step) const;
    void spectral_fields(const WrittenLevel& level, int step);
    void grid_winds(int first, int last, int step);
    void grid_speeds(std::size_t first, std::size_t last, int step);
    void add_grid_field(const WrittenLevel& level, int param, int step,
                        const std::function<double(double u, double v)>& value, std::int64_t place,
                        std::int64_t width, std::span<const double> points);
    void send_batch_if(std::size_t at_least);
    [[nodiscard]] std::vector<double> assemble(bool is_spectral,
                                               const std::vector<const double*>& parts) const;
    void hand_over(const std::vector<Message>& mine);
    [[nodiscard]] std::size_t batch_fields() const {
        return static_cast<std::size_t>(num_encoders) * fields_each;
    }
};

/// Every rank throws the error of the lowest rank that has one. Collective.
void FieldOutput::Impl::agree() {
    int lowest = failed == ErrorCode::ok ? size : rank;
    MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, comm);
    if (lowest == size) return;
    int numbers[2] = {static_cast<int>(failed), static_cast<int>(failed_text.size())};
    MPI_Bcast(numbers, 2, MPI_INT, lowest, comm);
    failed_text.resize(static_cast<std::size_t>(numbers[1]));
    MPI_Bcast(failed_text.data(), numbers[1], MPI_CHAR, lowest, comm);
    failed = static_cast<ErrorCode>(numbers[0]);
    throw Error(failed, failed_text, lowest);
}

Key FieldOutput::Impl::key_of(const WrittenLevel& level, int param, int step) const {
    Key key = constant;
    key.set("levtype", level.levtype).set("step", std::to_string(step));
    key.set("levelist", std::to_string(level.levelist)).set("param", std::to_string(param));
    return key;
}

void FieldOutput::Impl::spectral_fields(const WrittenLevel& level, int step) {
    const Layout& layout = model.layout();
    const State& state = model.state();
    const std::int64_t all = model.options().num_levels;
    for (const int param : spectral_params) {
        Part part{.key = key_of(level, param, step), .is_spectral = true};
        part.values.reserve(static_cast<std::size_t>(wave_values[static_cast<std::size_t>(rank)]));
        const Coefficients& from = param == 138 || param == 1 ? state.vorticity
                                   : param == 129             ? state.geopotential
                                                              : state.divergence;
        for (std::size_t i = 0; i < layout.mine().size(); ++i) {
            const int m = layout.mine()[i];
            for (int n = m; n <= layout.truncation; ++n) {
                const std::int64_t at = (layout.first_coefficient[i] + n - m) * all * 2;
                // Stream function and potential are the inverse Laplacian of vorticity and divergence.
                const double degree = static_cast<double>(n) * (n + 1);
                const double factor = param > 2 ? 1 : n == 0 ? 0 : -earth_radius * earth_radius / degree;
                for (int component = 0; component < 2; ++component) {
                    const auto value = [&](int k) {
                        return from[static_cast<std::size_t>(at + k * 2 + component)];
                    };
                    double mixed =
                        factor * ((1 - level.part) * value(level.above) + level.part * value(level.below));
                    if (param == 129 && n == 0 && component == 0) {
                        mixed += (1 - level.part) * model.mean_geopotential(level.above) +
                                 level.part * model.mean_geopotential(level.below);
                    }
                    part.values.push_back(mixed);
                }
            }
        }
        batch.push_back(std::move(part));
        send_batch_if(batch_fields());
    }
}

void FieldOutput::Impl::add_grid_field(const WrittenLevel& level, int param, int step,
                                       const std::function<double(double u, double v)>& value,
                                       std::int64_t place, std::int64_t width,
                                       std::span<const double> points) {
    const Layout& layout = model.layout();
    Part part{.key = key_of(level, param, step), .is_spectral = false};
    part.values.resize(static_cast<std::size_t>(layout.num_points));
    const double* u = points.data() + place * layout.num_points;
    const double* v = points.data() + (place + width) * layout.num_points;
    for (std::int64_t row = layout.band_begin(); row < layout.band_end(); ++row) {
        const double mu = model.grid().sin_latitude[static_cast<std::size_t>(row)],
                     scale = 1 / std::sqrt(1 - mu * mu);
        const std::int64_t from = layout.first_point[static_cast<std::size_t>(row - layout.band_begin())];
        const std::int64_t to = from + model.grid().points[static_cast<std::size_t>(row)];
        for (std::int64_t i = from; i < to; ++i)
            part.values[static_cast<std::size_t>(i)] = value(u[i] * scale, v[i] * scale);
    }
    batch.push_back(std::move(part));
    send_batch_if(batch_fields());
}

void FieldOutput::Impl::grid_winds(int first, int last, int step) {
    const Layout& layout = model.layout();
    const std::int64_t width = last - first;
    std::vector<double> block(static_cast<std::size_t>(layout.num_coefficients * 2 * width * 2), 0);
    std::vector<double> points(static_cast<std::size_t>(layout.num_points * 2 * width));
    model.winds(model.state(), first, last, 2 * width, 0, block);
    model.transform().to_grid(2 * width, block, points);
    for (std::int64_t k = 0; k < width; ++k) {
        const WrittenLevel& level = levels[static_cast<std::size_t>(first + k)];
        add_grid_field(
            level, param_u, step, [](double u, double) { return u; }, k, width, points);
        add_grid_field(
            level, param_v, step, [](double, double v) { return v; }, k, width, points);
        add_grid_field(
            level, param_speed, step, [](double u, double v) { return std::sqrt(u * u + v * v); }, k, width,
            points);
    }
}

/// Wind speed on pressure levels [first, last) of `levels`, from winds between the model's levels.
void FieldOutput::Impl::grid_speeds(std::size_t first, std::size_t last, int step) {
    const Layout& layout = model.layout();
    const auto width = static_cast<std::int64_t>(last - first);
    std::vector<double> block(static_cast<std::size_t>(layout.num_coefficients * 2 * width * 2), 0),
        one(block.size());
    std::vector<double> points(static_cast<std::size_t>(layout.num_points * 2 * width));
    for (std::int64_t k = 0; k < width; ++k) {
        const WrittenLevel& level = levels[first + static_cast<std::size_t>(k)];
        for (const auto& [source, part] :
             {std::pair{level.above, 1 - level.part}, std::pair{level.below, level.part}}) {
            std::vector<double> pair(static_cast<std::size_t>(layout.num_coefficients * 4));
            model.winds(model.state(), source, source + 1, 2, 0, pair);
            for (std::int64_t i = 0; i < layout.num_coefficients; ++i) {
                for (std::int64_t f = 0; f < 2; ++f) {
                    for (std::int64_t c = 0; c < 2; ++c) {
                        block[static_cast<std::size_t>((i * 2 * width + f * width + k) * 2 + c)] +=
                            part * pair[static_cast<std::size_t>((i * 2 + f) * 2 + c)];
                    }
                }
            }
        }
    }
    model.transform().to_grid(2 * width, block, points);
    for (std::int64_t k = 0; k < width; ++k) {
        add_grid_field(
            levels[first + static_cast<std::size_t>(k)], param_speed, step,
            [](double u, double v) { return std::sqrt(u * u + v * v); }, k, width, points);
    }
}

/// The whole field of every rank's parts, as GRIB orders it.
std::vector<double> FieldOutput::Impl::assemble(bool is_spectral,
                                                const std::vector<const double*>& parts) const {
    const Layout& layout = model.layout();
    std::vector<double> whole;
    if (!is_spectral) {
        for (std::size_t r = 0; r < parts.size(); ++r)
            whole.insert(whole.end(), parts[r], parts[r] + band_points[r]);
        return whole;
    }
    const auto top = static_cast<std::int64_t>(layout.truncation);
    whole.resize(static_cast<std::size_t>((top + 1) * (top + 2)));
    for (std::size_t r = 0; r < parts.size(); ++r) {
        const double* from = parts[r];
        for (const int m : layout.wavenumbers[r]) {
            const std::int64_t before = m * (top + 1) - static_cast<std::int64_t>(m) * (m - 1) / 2,
                               degrees = top + 1 - m;
            std::copy(from, from + degrees * 2, whole.begin() + before * 2);
            from += degrees * 2;
        }
    }
    return whole;
}

/// Steps 1 to 3 for the fields of the batch, when there are so many.
void FieldOutput::Impl::send_batch_if(std::size_t at_least) {
    if (batch.empty() || batch.size() < at_least) return;
    const auto ranks = static_cast<std::size_t>(size);
    const auto encoder_of = [&](std::size_t field) {
        return static_cast<int>(field % static_cast<std::size_t>(num_encoders));
    };
    const auto part_size = [&](std::size_t r, bool is_spectral) {
        return is_spectral ? wave_values[r] : band_points[r];
    };
    std::vector<int> sent(ranks, 0), got(ranks, 0), sent_at(ranks, 0), got_at(ranks, 0);
    std::vector<double> out, in;
    for (int encoder = 0; encoder < num_encoders; ++encoder) {
        const auto e = static_cast<std::size_t>(encoder);
        sent_at[e] = static_cast<int>(out.size());
        for (std::size_t f = 0; f < batch.size(); ++f) {
            if (encoder_of(f) == encoder)
                out.insert(out.end(), batch[f].values.begin(), batch[f].values.end());
        }
        sent[e] = static_cast<int>(out.size()) - sent_at[e];
    }
    int total = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
        got_at[r] = total;
        for (std::size_t f = 0; f < batch.size(); ++f) {
            if (encoder_of(f) == rank) got[r] += static_cast<int>(part_size(r, batch[f].is_spectral));
        }
        total += got[r];
    }
    in.resize(static_cast<std::size_t>(total));
    MPI_Alltoallv(out.data(), sent.data(), sent_at.data(), MPI_DOUBLE, in.data(), got.data(), got_at.data(),
                  MPI_DOUBLE, comm);

    std::vector<Message> mine;
    std::vector<std::int64_t> place(got_at.begin(), got_at.end());
    for (std::size_t f = 0; f < batch.size(); ++f) {
        if (encoder_of(f) != rank) continue;
        std::vector<const double*> parts;
        for (std::size_t r = 0; r < ranks; ++r) {
            parts.push_back(in.data() + place[r]);
            place[r] += part_size(r, batch[f].is_spectral);
        }
        attempt([&] {
            const bool is_spectral = batch[f].is_spectral;
            const GribEncoder& encoder = is_spectral ? *spectral_encoder : *grid_encoder;
            Message message{.key = batch[f].key, .is_spectral = is_spectral};
            message.bytes = encoder.encode(message.key, assemble(is_spectral, parts));
            const auto length = static_cast<std::int64_t>(message.bytes.size());
            (is_spectral ? totals.num_spectral_fields : totals.num_grid_fields) += 1;
            (is_spectral ? totals.spectral_bytes : totals.grid_bytes) += length;
            mine.push_back(std::move(message));
        });
    }
    batch.clear();
    hand_over(mine);
}

/// Messages to this rank's writer, which archives its own first and then the others' in their order. As one
/// byte string a rank: for each message its kind, the length of its key's text, of its bytes, then both.
void FieldOutput::Impl::hand_over(const std::vector<Message>& mine) {
    const bool is_writer = rank % stride == 0;
    if (is_writer) {
        for (const Message& message : mine)
            attempt([&] { sink->archive(message.key, message.bytes, message.is_spectral); });
    }
    if (stride == 1) return;
    std::vector<char> text;
    if (!is_writer) {
        for (const Message& message : mine) {
            const std::string key = message.key.text();
            const std::int64_t head[3] = {message.is_spectral ? 1 : 0, static_cast<std::int64_t>(key.size()),
                                          static_cast<std::int64_t>(message.bytes.size())};
            append(text, head, sizeof head);
            append(text, key.data(), key.size());
            append(text, message.bytes.data(), message.bytes.size());
        }
    }
    int members = 1, length = static_cast<int>(text.size());
    MPI_Comm_size(group, &members);
    std::vector<int> lengths(static_cast<std::size_t>(members)), starts(static_cast<std::size_t>(members));
    MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, group);
    std::size_t total = 0;
    for (std::size_t i = 0; is_writer && i < lengths.size(); ++i) {
        starts[i] = static_cast<int>(total);
        total += static_cast<std::size_t>(lengths[i]);
    }
    std::vector<char> all(is_writer ? total : 0);
    MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0, group);
    for (const char* at = all.data(); is_writer && at < all.data() + all.size();) {
        std::int64_t head[3];
        std::memcpy(head, at, sizeof head);
        at += sizeof head;
        const std::string_view key(at, static_cast<std::size_t>(head[1]));
        at += head[1];
        const auto bytes = std::as_bytes(std::span(at, static_cast<std::size_t>(head[2])));
        at += head[2];
        attempt([&] { sink->archive(Key::parse(key), bytes, head[0] == 1); });
    }
}

FieldOutput::FieldOutput(ShallowWater& model, MPI_Comm comm, const Products& products,
                         const SinkOptions& sink, int writer_stride, long date, long time)
    : impl_(std::make_unique<Impl>(model, comm)) {
    Impl& of = *impl_;
    MPI_Comm_rank(comm, &of.rank);
    MPI_Comm_size(comm, &of.size);
    const bool is_files = sink.kind == "files";
    of.stride = is_files ? of.size : std::clamp(writer_stride, 1, of.size);
    of.num_encoders = is_files ? 1 : of.size;
    MPI_Comm_split(comm, of.rank / of.stride, of.rank, &of.group);
    const int num_levels = model.options().num_levels;
    of.levels = written_levels(num_levels, products.num_pressure_levels);
    of.num_grid_pressure_levels = std::min(products.num_grid_pressure_levels, products.num_pressure_levels);
    std::string hours = std::to_string(time);
    if (hours.size() < 4) hours.insert(0, 4 - hours.size(), '0');
    of.constant = Key::parse("class=rd,stream=oper,expver=hako,type=fc");
    of.constant.set("date", std::to_string(date)).set("time", hours);
    const Layout& layout = model.layout();
    for (std::size_t r = 0; r < static_cast<std::size_t>(of.size); ++r) {
        std::int64_t points = 0, values = 0;
        for (std::int64_t row = layout.first_row[r]; row < layout.first_row[r + 1]; ++row)
            points += model.grid().points[static_cast<std::size_t>(row)];
        for (const int m : layout.wavenumbers[r]) values += 2 * (layout.truncation + 1 - m);
        of.band_points.push_back(points);
        of.wave_values.push_back(values);
    }
    of.attempt([&] {
        const GribPacking packing{.type = products.packing, .bits_per_value = products.bits_per_value};
        const std::vector<double> vertical = vertical_of(num_levels);
        of.grid_encoder = std::make_unique<GribEncoder>(
            GribGrid{.points_per_row = model.grid().points, .vertical = vertical}, packing);
        of.spectral_encoder =
            std::make_unique<GribEncoder>(GribGrid{.truncation = layout.truncation, .vertical = vertical},
                                          GribPacking{.bits_per_value = products.bits_per_value});
        if (of.rank % of.stride == 0) of.sink = make_sink(sink);
    });
    of.agree();
}

FieldOutput::~FieldOutput() = default;

void FieldOutput::write(int step_hours) {
    Impl& of = *impl_;
    of.totals = {};
    const int num_levels = of.model.options().num_levels, at_once = of.model.options().levels_at_once;
    for (const WrittenLevel& level : of.levels) of.spectral_fields(level, step_hours);
    for (int first = 0; first < num_levels; first += at_once)
        of.grid_winds(first, std::min(num_levels, first + at_once), step_hours);
    const auto begin = static_cast<std::size_t>(num_levels);
    const std::size_t end = begin + static_cast<std::size_t>(of.num_grid_pressure_levels);
    for (std::size_t first = begin; first < end; first += static_cast<std::size_t>(at_once))
        of.grid_speeds(first, std::min(end, first + static_cast<std::size_t>(at_once)), step_hours);
    of.send_batch_if(1);
    if (of.sink != nullptr) of.attempt([&] { of.sink->end_step(); });
    of.agree();
}

OutputTotals FieldOutput::totals() const {
    const OutputTotals& mine = impl_->totals;
    std::int64_t sums[4] = {mine.num_grid_fields, mine.num_spectral_fields, mine.grid_bytes,
                            mine.spectral_bytes};
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_INT64_T, MPI_SUM, impl_->comm);
    return {sums[0], sums[1], sums[2], sums[3]};
}

int FieldOutput::num_writers() const {
    return (impl_->size + impl_->stride - 1) / impl_->stride;
}

std::vector<FileProfile> FieldOutput::close() {
    Impl& of = *impl_;
    std::vector<FileProfile> mine, all;
    if (of.sink != nullptr) of.attempt([&] { mine = of.sink->close(); });
    MPI_Comm_free(&of.group);
    std::string text;
    for (const FileProfile& file : mine) {
        text += std::to_string(file.seconds) + "\t" + std::to_string(file.num_bytes) + "\t" +
                std::to_string(file.num_calls) + "\t" + file.name + "\n";
    }
    int length = static_cast<int>(text.size());
    std::vector<int> lengths(static_cast<std::size_t>(of.size)), starts(static_cast<std::size_t>(of.size));
    MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, of.comm);
    std::size_t total = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        starts[i] = static_cast<int>(total);
        total += static_cast<std::size_t>(lengths[i]);
    }
    std::string gathered(of.rank == 0 ? total : 0, '\0');
    MPI_Gatherv(text.data(), length, MPI_CHAR, gathered.data(), lengths.data(), starts.data(), MPI_CHAR, 0,
                of.comm);
    for (std::size_t at = 0; at < gathered.size();) {
        const std::size_t end = gathered.find('\n', at);
        const std::string line = gathered.substr(at, end - at);
        const std::size_t one = line.find('\t'), two = line.find('\t', one + 1),
                          three = line.find('\t', two + 1);
        all.push_back({line.substr(three + 1), std::stod(line), std::stoll(line.substr(one + 1)),
                       std::stoll(line.substr(two + 1))});
        at = end + 1;
    }
    of.agree();
    return all;
}

}  // namespace hakobi::weather
