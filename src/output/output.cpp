#include <hakobi/output.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "format/registry.hpp"
#include "mpi/messages.hpp"
#include "output/agreement.hpp"
#include "output/output_impl.hpp"
#include "series/step_file.hpp"

namespace hakobi {

using series::Step;

namespace {

constexpr std::int64_t least_buffer_bytes = 4096;
constexpr std::int64_t least_asynchronous_bytes = 1 << 20;

std::vector<std::byte> encode_options(std::string_view prefix, const OutputOptions& options) {
    ByteWriter writer;
    writer.put_text(std::string(prefix));
    writer.put_text(options.method);
    writer.put_text(options.format);
    writer.put_text(options.compression);
    writer.put(options.significant_bits);
    writer.put(options.sync);
    writer.put(options.asynchronous ? static_cast<int>(*options.asynchronous) : -1);
    writer.put(options.asynchronous_bytes);
    writer.put(options.writer_stride);
    writer.put(options.buffer_bytes);
    writer.put(options.keep_pieces);
    writer.put(options.resume);
    writer.put(options.replace);
    writer.put(options.overview);
    for (const auto& [name, value] : options.hints) {
        writer.put_text(name);
        writer.put_text(value);
    }
    return writer.take();
}

Status check_options(std::string_view prefix, const OutputOptions& options) {
    if (prefix.empty() || prefix.back() == '/') {
        return {ErrorCode::invalid_argument,
                "output prefix '" + std::string(prefix) + "' does not end in a file name"};
    }
    // NetCDF's library takes it for Windows' slash.
    if (prefix.substr(prefix.rfind('/') + 1).find('\\') != std::string_view::npos) {
        return {
            ErrorCode::invalid_argument,
            "output prefix '" + std::string(prefix) +
                "' has a backslash in its file name, and NetCDF opens no such file: use another character"};
    }
    if (options.buffer_bytes < least_buffer_bytes) {
        return {ErrorCode::invalid_argument, "buffer_bytes is " + std::to_string(options.buffer_bytes) +
                                                 ": the least is " + std::to_string(least_buffer_bytes)};
    }
    if (options.asynchronous_bytes != 0 && options.asynchronous_bytes < least_asynchronous_bytes) {
        return {ErrorCode::invalid_argument,
                "asynchronous_bytes is " + std::to_string(options.asynchronous_bytes) + ": the least is " +
                    std::to_string(least_asynchronous_bytes)};
    }
    if (options.resume && options.replace) {
        return {ErrorCode::invalid_argument,
                "resume and replace are both set: an earlier run is either continued or removed"};
    }
    return format::check_description({.title = options.title,
                                      .time_units = options.time_units,
                                      .time = 0,
                                      .axes = options.axes,
                                      .fields = {},
                                      .attributes = options.attributes,
                                      .calendar = options.calendar});
}

/// Collective: invalid_argument when ranks passed different things to create.
mpi::Agreed agree_on_options(const Comm& comm, const Status& local, std::string_view prefix,
                             const OutputOptions& options) {
    const format::StepDescription empty{.title = options.title,
                                        .time_units = options.time_units,
                                        .time = 0,
                                        .axes = options.axes,
                                        .fields = {},
                                        .attributes = options.attributes,
                                        .calendar = options.calendar};
    if (output::StepAgreement found = output::agree_on_step(comm, local, empty, false);
        !found.error.status.ok()) {
        return found.error;
    }
    std::vector<std::byte> first = encode_options(prefix, options);
    const std::vector<std::byte> mine = first;
    mpi::broadcast(comm, first, 0);
    if (mine == first) return mpi::agree(comm, {});
    return mpi::agree(
        comm, {ErrorCode::invalid_argument, "Output::create: prefix or options on rank " +
                                                std::to_string(comm.rank()) + " differ from rank 0's"});
}

}  // namespace

Status Output::Impl::claim() {
    run = series::random_run_id();
    if (!method->writes()) return {};
    const series::Earlier earlier = options.resume    ? series::Earlier::resumed
                                    : options.replace ? series::Earlier::replaced
                                                      : series::Earlier::refused;
    Result<series::Claim> claim =
        series::claim_series(prefix, format->extension(), earlier, options.buffer_bytes);
    if (!claim.ok()) return claim.status();
    lock = std::move(claim.value().lock);
    next_step = claim.value().next_step();
    view = series::SeriesView(prefix, *format, claim.value().earlier);
    Result<series::Resumed> last = series::Resumed::read(*format, std::move(claim.value().earlier));
    if (!last.ok()) return last.status();
    resumed = std::move(last).value();
    return {};
}

void Output::Impl::throw_if_unusable(const char* call) const {
    if (is_closed) throw Error(ErrorCode::invalid_argument, std::string(call) + ": the output is closed");
    if (!failure.ok()) throw Error(ErrorCode::failed, "the output has failed before: " + failure.text());
}

Status Output::Impl::find_names() {
    Result<const format::Format*> found = format::find_format(options.format);
    if (!found.ok()) return found.status();
    format = found.value();
    Result<const output::MethodEntry*> known = output::find_method(options.method);
    if (!known.ok()) return known.status();
    entry = known.value();
    Result<std::optional<bool>> asked = output::asked_hiding(options);
    if (!asked.ok()) return asked.status();
    options.asynchronous = asked.value();
    if (options.asynchronous.value_or(false) && entry->why_not_hidden != nullptr) {
        return {ErrorCode::invalid_argument,
                "method " + std::string(entry->name) +
                    " does not support asynchronous output: " + entry->why_not_hidden};
    }
    return {};
}

Status Output::Impl::make_method() {
    Result<std::unique_ptr<output::Method>> made = entry->make({comm, options, hiding});
    if (!made.ok()) return made.status();
    method = std::move(made).value();
    Result<filter::Filters> parsed = filter::parse_filters(options.compression, options.significant_bits);
    if (!parsed.ok()) return parsed.status();
    filters = parsed.value();
    if (options.overview && method->writes() &&
        (!method->writes_step_file() || options.format != "netcdf4" ||
         filters.codec != filter::Codec::none)) {
        return {ErrorCode::unsupported,
                "option overview: with method " + std::string(entry->name) + ", format " + options.format +
                    " and compression " + options.compression +
                    " values do not lie as they are in the step's file; run hakobi index afterwards"};
    }
    return check_filters(filters);
}

Status Output::Impl::check_filters(const filter::Filters& asked) const {
    if (asked.codec == filter::Codec::none || format->holds_chunks()) return {};
    return {ErrorCode::unsupported,
            "files of the format " + std::string(format->name()) + " hold no compressed fields"};
}

void Output::Impl::say_how() const {
    const char* const wanted = std::getenv("HAKOBI_EXPLAIN");
    if (!is_rank_0() || wanted == nullptr || std::string_view(wanted).empty() ||
        std::string_view(wanted) == "0")
        return;
    std::fprintf(stderr, "hakobi: %s: %s%s\n", prefix.c_str(),
                 output::text_of(*entry, *method, hiding).c_str(), waited_text.c_str());
}

Output Output::create(const Comm& comm, std::string_view prefix, OutputOptions options) {
    if (!comm) throw Error(ErrorCode::invalid_argument, "Output::create: the communicator is empty");
    auto impl = std::make_unique<Impl>();
    impl->comm = comm;
    impl->prefix = prefix;
    impl->options = std::move(options);
    Status status = guarded("Output::create", [&] { return check_options(prefix, impl->options); });
    status.keep_first(guarded("Output::create", [&] { return impl->find_names(); }));
    agree_on_options(comm, status, prefix, impl->options).throw_if_error();
    series::finish_dropped(comm);
    impl->hiding = output::choose_hiding(comm, *impl->entry, impl->options);
    status = guarded("Output::create", [&] { return impl->make_method(); });
    if (impl->is_rank_0() && status.ok()) status = guarded("Output::create", [&] { return impl->claim(); });
    mpi::agree_or_throw(comm, status);
    ByteWriter writer;
    writer.put(impl->run);
    writer.put(impl->next_step);
    std::vector<std::byte> bytes = writer.take();
    mpi::broadcast(comm, bytes, 0);
    ByteReader reader(bytes);
    impl->run = reader.get<series::RunId>();
    impl->next_step = reader.get<std::int64_t>();
    impl->step.description.title = impl->options.title;
    impl->step.description.time_units = impl->options.time_units;
    impl->step.description.calendar = impl->options.calendar;
    impl->step.description.axes = impl->options.axes;
    impl->step.description.attributes = impl->options.attributes;
    impl->created_s = now_s();
    impl->created_cpu_s = io_threads_cpu_s();
    impl->say_how();
    series::add_unclosed(*impl);
    if (impl->is_rank_0() && impl->method->writes() && impl->hiding.is_on) impl->last_words.speak_of(prefix);
    return Output(std::move(impl));
}

Output::Output(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Output::Output(Output&&) noexcept = default;

Output& Output::operator=(Output&& other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
}

Output::~Output() {
    if (impl_) series::drop_unclosed(std::move(impl_));
}

Output::Impl::~Impl() {
    series::remove_unclosed(*this);
    method.reset();  // ends what runs in the background before the file goes
    discard_parts();
}

void Output::Impl::finish() noexcept {
    is_closed = true;
    Status status;
    if (has_pending()) {
        status = run_close().status;
    } else {
        if (is_rank_0()) status = named;
        end_series();
    }
    is_open = false;
    if (is_rank_0() && !status.ok())
        std::fprintf(stderr, "hakobi: %s: %s\n", prefix.c_str(), status.text().c_str());
}

void Output::begin_step(double time) {
    impl_->throw_if_unusable("begin_step");
    if (impl_->is_open)
        throw Error(ErrorCode::invalid_argument,
                    "begin_step: the previous step has not been ended (end_step)");
    impl_->is_open = true;
    impl_->put_status = {};
    if (!std::isfinite(time))
        impl_->put_status = {ErrorCode::invalid_argument, "begin_step: the time is not a number"};
    Step& step = impl_->step;
    step.path = series::step_path(impl_->prefix, impl_->next_step, impl_->format->extension());
    step.run = impl_->run;
    step.number = impl_->next_step;
    step.part_path = series::part_path(step.path, series::token(step.run, step.number));
    step.description.time = time;
    step.description.fields.clear();
    impl_->held.clear();
    impl_->mesh.begin_step();
}

void Output::put(const Field& field) {
    impl_->throw_if_unusable("put");
    if (!impl_->is_open) throw Error(ErrorCode::invalid_argument, "put: no step is open (begin_step)");
    const bool is_on_mesh = field.on != On::grid;
    Result<output::HeldBlock> held = is_on_mesh ? impl_->block_on_mesh(field) : output::held_block(field);
    if (!held.ok()) {
        impl_->put_status.keep_first(
            {held.status().code(), "field " + field.name + ": " + held.status().text()});
        held = output::HeldBlock{.block = field.block, .first = nullptr, .strides_bytes = {}};
        held.value().block.count.assign(field.block.count.size(), 0);
        if (is_on_mesh) held.value().block = {{1}, {0}, {0}};
    }
    Result<filter::Filters> filters =
        filter::parse_filters(field.compression, field.significant_bits, impl_->filters);
    Status filters_status = filters.ok() ? impl_->check_filters(filters.value()) : filters.status();
    if (!filters_status.ok()) {
        impl_->put_status.keep_first(
            {filters_status.code(), "field " + field.name + ": " + filters_status.text()});
        filters = filter::Filters();
    }
    std::vector<std::int64_t> global = is_on_mesh ? held.value().block.global : field.block.global;
    impl_->add({.name = field.name,
                .units = field.units,
                .long_name = field.long_name,
                .standard_name = field.standard_name,
                .type = static_cast<format::ValueType>(field.data.index()),
                .global = std::move(global),
                .dims = field.dims,
                .filters = filters.value(),
                .attributes = field.attributes,
                .fill_value = field.fill_value || is_on_mesh
                                  ? field.fill_value
                                  : format::default_fill(static_cast<format::ValueType>(field.data.index())),
                .coordinates = field.coordinates,
                .is_static = field.is_static,
                .place = static_cast<format::Place>(field.on)},
               std::move(held).value());
}

void Output::put_mesh(const Mesh& mesh) {
    impl_->throw_if_unusable("put_mesh");
    if (!impl_->is_open) throw Error(ErrorCode::invalid_argument, "put_mesh: no step is open (begin_step)");
    if (!impl_->format->holds_meshes()) {
        impl_->put_status.keep_first({ErrorCode::unsupported, "the mesh: files of the format " +
                                                                  std::string(impl_->format->name()) +
                                                                  " hold none; vtkhdf's do"});
        return;
    }
    if (!impl_->step.description.fields.empty()) {
        impl_->put_status.keep_first(
            {ErrorCode::invalid_argument, "the mesh: fields were put before it in this step"});
    }
    impl_->put_status.keep_first(guarded("put_mesh", [&] { return impl_->mesh.put(mesh); }));
}

void Output::put_points(Mesh::Points points) {
    impl_->throw_if_unusable("put_points");
    if (!impl_->is_open) throw Error(ErrorCode::invalid_argument, "put_points: no step is open (begin_step)");
    impl_->put_status.keep_first(impl_->mesh.put_points(points));
}

void Output::refuse(std::string_view reason) {
    impl_->throw_if_unusable("put");
    if (!impl_->is_open) throw Error(ErrorCode::invalid_argument, "put: no step is open (begin_step)");
    impl_->put_status.keep_first({ErrorCode::invalid_argument, std::string(reason)});
}

void Output::end_step() {
    impl_->throw_if_unusable("end_step");
    if (!impl_->is_open) throw Error(ErrorCode::invalid_argument, "end_step: no step is open (begin_step)");
    impl_->is_open = false;
    Step& step = impl_->step;
    std::int64_t bytes = 0;
    for (std::size_t f = 0; f < impl_->held.size(); ++f) {
        for (const output::HeldBlock& one : impl_->held[f])
            bytes += one.block.num_elements() * format::bytes_of(step.description.fields[f].type);
    }
    bytes += impl_->mesh.bytes_put();
    impl_->put_status.keep_first(guarded("end_step", [&] { return impl_->add_statics(); }));
    mpi::Agreed agreed = impl_->run_step();
    if (!agreed.status.ok()) {
        impl_->fail(agreed);
        agreed.throw_if_error();
    }
    impl_->returned_s = now_s();
    ++impl_->next_step;
    impl_->times.bytes += bytes;
}

void Output::close() {
    if (impl_->is_closed) return;
    impl_->is_closed = true;
    const mpi::Agreed agreed = impl_->run_close();
    impl_->is_open = false;
    impl_->say_how();
    agreed.throw_if_error();
}

OutputTimes Output::times() const {
    OutputTimes times = impl_->times;
    if (!impl_->is_closed) {
        times.run_s = now_s() - impl_->created_s;
        times.cpu_s = io_threads_cpu_s() - impl_->created_cpu_s;
    }
    return times;
}
std::string_view Output::method() const {
    const std::string_view chosen = impl_->method->name();
    return chosen.empty() ? impl_->entry->name : chosen;
}
std::string Output::explain() const {
    return output::text_of(*impl_->entry, *impl_->method, impl_->hiding) + impl_->waited_text;
}

}  // namespace hakobi
