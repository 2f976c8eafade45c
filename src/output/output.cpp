// The life of a step, the same for every method; each point is an agreement of all ranks:
//
//  1. Described: nobody made a mistake in put, all ranks put the same fields at the same time
//  (agreement.hpp).
//  2. Disjoint: no element has two owners. Only looked at when a block is new.
//  3. Laid out: rank 0 has made the file under its temporary name (series.hpp), with everything in it but the values, as the
//  format says (format.hpp), and every rank knows where its values go.
//  4. Written: all values are in the file (asynchronous: they are on their way, and 5 waits for the next
//  end_step).
//  5. Finished: rank 0 has synced and renamed it.
//
// From create to close rank 0 holds the prefix's lock. An error at any point: rank 0 removes the temporary file, and the object is failed on all ranks.
#include <hakobi/output.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "format/format.hpp"
#include "mpi/messages.hpp"
#include "output/agreement.hpp"
#include "output/method.hpp"
#include "output/step_file.hpp"

namespace hakobi {

using output::Step;

namespace {

constexpr std::int64_t least_buffer_bytes = 4096;

/// Adds the time from its making to its end to a phase.
class Stopwatch {
  public:
    explicit Stopwatch(double& seconds) : seconds_(seconds), start_s_(now_s()) {}
    ~Stopwatch() { seconds_ += now_s() - start_s_; }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& seconds_;
    double start_s_;
};

std::vector<std::byte> encode_options(std::string_view prefix, const OutputOptions& options) {
    ByteWriter writer;
    writer.put_text(std::string(prefix));
    writer.put_text(options.method);
    writer.put_text(options.format);
    writer.put(options.sync);
    writer.put(options.asynchronous);
    writer.put(options.writer_stride);
    writer.put(options.buffer_bytes);
    writer.put(options.keep_pieces);
    writer.put(options.resume);
    writer.put(options.replace);
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
    if (options.buffer_bytes < least_buffer_bytes) {
        return {ErrorCode::invalid_argument, "buffer_bytes is " + std::to_string(options.buffer_bytes) +
                                                 ": the least is " + std::to_string(least_buffer_bytes)};
    }
    if (options.resume && options.replace) {
        return {ErrorCode::invalid_argument,
                "resume and replace are both asked for: an earlier run is gone on with, or "
                "removed"};
    }
    return format::check_description({.title = options.title,
                                      .time_units = options.time_units,
                                      .time = 0,
                                      .axes = options.axes,
                                      .fields = {}});
}

/// Collective: invalid_argument when ranks passed different things to create.
mpi::Agreed agree_on_options(const Comm& comm, const Status& local, std::string_view prefix,
                             const OutputOptions& options) {
    const format::StepDescription empty{.title = options.title,
                                        .time_units = options.time_units,
                                        .time = 0,
                                        .axes = options.axes,
                                        .fields = {}};
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

struct Output::Impl {
    Comm comm;
    std::string prefix;
    OutputOptions options;
    std::string_view method_name;
    const format::Format* format = nullptr;
    std::unique_ptr<output::Method> method;
    OutputTimes times;

    output::RunId run{};
    storage::LockFile lock;  // rank 0: nobody else writes the prefix
    std::int64_t next_step = 0;
    bool is_open = false;      // between begin_step and end_step
    bool is_draining = false;  // the step before was started and not finished
    bool is_closed = false;
    std::string part_made;                // rank 0: the temporary file that is there
    Status failure;                       // why the object is failed
    Status put_status;                    // the first mistake in this step's puts
    Step step;                            // the open step; its layout is kept from step to step
    std::vector<output::HeldField> held;  // one a field of it
    Step draining;                        // names of the one under way
    std::vector<std::vector<Block>> blocks_before;
    std::optional<std::vector<format::FieldDescription>> fields_before;  // those that step.layout is for

    [[nodiscard]] bool is_rank_0() const { return comm.rank() == 0; }
    void throw_if_unusable(const char* call) const;
    Status make_method();
    /// Rank 0's part of create.
    Status claim();
    void discard_part() noexcept;

    // Collective. noexcept: an exception here could only be a failed allocation between messages, and other
    // ranks would wait for ever; the program ends instead.
    mpi::Agreed run_step() noexcept;
    mpi::Agreed lay_out() noexcept;
    /// A field's first block, or another one.
    void add(format::FieldDescription field, output::HeldBlock block);
    void share_layout();
    /// Local: this rank's parts of the file.
    void place_fields();
    mpi::Agreed finish(const Step& finished) noexcept;
    mpi::Agreed finish_draining() noexcept;
    mpi::Agreed run_close() noexcept;
    /// Local, on every rank alike.
    void fail(const mpi::Agreed& agreed, const Step& failed) noexcept;
};

Status Output::Impl::claim() {
    run = output::random_run_id();
    if (!method->writes()) return {};
    const output::Earlier earlier = options.resume    ? output::Earlier::resumed
                                    : options.replace ? output::Earlier::replaced
                                                      : output::Earlier::refused;
    Result<output::Claim> claim =
        output::claim_series(prefix, format->extension(), earlier, options.buffer_bytes);
    if (!claim.ok()) return claim.status();
    lock = std::move(claim.value().lock);
    next_step = claim.value().next_step;
    return {};
}

void Output::Impl::discard_part() noexcept {
    if (!part_made.empty()) output::discard_file(part_made);
    part_made.clear();
}

void Output::Impl::throw_if_unusable(const char* call) const {
    if (is_closed) throw Error(ErrorCode::invalid_argument, std::string(call) + ": the output is closed");
    if (!failure.ok()) throw Error(ErrorCode::failed, "the output has failed before: " + failure.text());
}

Status Output::Impl::make_method() {
    Result<const format::Format*> found = format::find_format(options.format);
    if (!found.ok()) return found.status();
    format = found.value();
    Result<const output::MethodEntry*> entry = output::find_method(options.method, options, comm.size());
    if (!entry.ok()) return entry.status();
    method_name = entry.value()->name;
    Result<std::unique_ptr<output::Method>> made = entry.value()->make({comm, options});
    if (!made.ok()) return made.status();
    method = std::move(made).value();
    return {};
}

void Output::Impl::add(format::FieldDescription field, output::HeldBlock block) {
    std::vector<format::FieldDescription>& fields = step.description.fields;
    const auto before = std::ranges::find(fields, field.name, &format::FieldDescription::name);
    if (before == fields.end()) {
        fields.push_back(std::move(field));
        held.push_back({std::move(block)});
    } else if (*before == field) {
        held[static_cast<std::size_t>(before - fields.begin())].push_back(std::move(block));
    } else {
        put_status.keep_first(
            {ErrorCode::invalid_argument,
             "field " + field.name + " was put before with another type, array, name or units"});
    }
}

mpi::Agreed Output::Impl::run_step() noexcept {
    if (is_draining) {
        if (mpi::Agreed agreed = finish_draining(); !agreed.status.ok()) return agreed;
    }
    std::vector<std::vector<Block>> blocks;
    for (const output::HeldField& field : held) {
        blocks.emplace_back();
        for (const output::HeldBlock& one : field) blocks.back().push_back(one.block);
    }
    // Title and axes were agreed on in create.
    const format::StepDescription put{.title = {},
                                      .time_units = {},
                                      .time = step.description.time,
                                      .axes = {},
                                      .fields = step.description.fields};
    {
        Stopwatch stopwatch(times.layout_s);
        output::StepAgreement found = output::agree_on_step(comm, put_status, put, blocks != blocks_before);
        if (!found.error.status.ok()) return found.error;
        if (!method->writes()) return {};
        step.are_regions_new = found.are_blocks_new || step.description.fields != fields_before;
        if (found.are_blocks_new) {
            mpi::Agreed agreed = output::agree_no_overlap(comm, step.description.fields, held);
            if (!agreed.status.ok()) return agreed;
        }
        blocks_before = std::move(blocks);
        if (mpi::Agreed agreed = lay_out(); !agreed.status.ok()) return agreed;
    }
    {
        Stopwatch stopwatch(times.values_s);
        if (mpi::Agreed agreed = method->write(step); !agreed.status.ok()) return agreed;
    }
    if (method->is_draining()) {
        is_draining = true;
        draining.path = step.path;
        draining.part_path = step.part_path;
        return {};
    }
    return finish(step);
}

mpi::Agreed Output::Impl::finish_draining() noexcept {
    is_draining = false;
    mpi::Agreed agreed;
    {
        Stopwatch stopwatch(times.values_s);
        agreed = method->wait();
    }
    return agreed.status.ok() ? finish(draining) : agreed;
}

mpi::Agreed Output::Impl::finish(const Step& finished) noexcept {
    Stopwatch stopwatch(times.finish_s);
    if (!method->writes_step_file()) return {};
    Status status;
    if (is_rank_0()) {
        status = guarded("finishing the step", [&] {
            return output::finish_file(finished.part_path, finished.path, options.sync);
        });
        if (status.ok()) part_made.clear();
    }
    return mpi::agree(comm, status);
}

mpi::Agreed Output::Impl::lay_out() noexcept {
    const bool is_layout_new = step.description.fields != fields_before;
    Status status;
    if (is_rank_0()) {
        status = guarded("laying out the step", [&]() -> Status {
            if (is_layout_new) {
                Result<format::Layout> layout = format->lay_out(step.description);
                if (!layout.ok()) return layout.status();
                step.layout = std::move(layout).value();
            }
            format::set_time(step.layout, step.description.time);
            if (!method->writes_step_file()) return {};
            if (Status in_the_way = output::check_free(step.path); !in_the_way.ok()) return in_the_way;
            Status made = output::create_file(step.part_path, step.layout.metadata, step.layout.file_bytes);
            if (made.ok()) part_made = step.part_path;
            return made;
        });
    }
    if (is_layout_new) {
        if (mpi::Agreed agreed = mpi::agree(comm, status); !agreed.status.ok()) return agreed;
        share_layout();
    }
    status.keep_first(guarded("preparing the step", [&] {
        place_fields();
        return method->prepare(step);
    }));
    if (mpi::Agreed agreed = mpi::agree(comm, status); !agreed.status.ok()) return agreed;
    fields_before = step.description.fields;
    return {};
}

void Output::Impl::share_layout() {
    ByteWriter writer;
    writer.put(step.layout.file_bytes);
    writer.put_all(step.layout.offsets_bytes);
    std::vector<std::byte> bytes = writer.take();
    mpi::broadcast(comm, bytes, 0);
    ByteReader reader(bytes);
    step.layout.file_bytes = reader.get<std::int64_t>();
    step.layout.offsets_bytes = reader.get_all<std::int64_t>();
}

void Output::Impl::place_fields() {
    step.parts.clear();
    for (std::size_t f = 0; f < held.size(); ++f) {
        step.parts.push_back(output::part_of(held[f], format::bytes_of(step.description.fields[f].type),
                                             step.layout.offsets_bytes[f]));
    }
}

mpi::Agreed Output::Impl::run_close() noexcept {
    mpi::Agreed agreed;
    if (is_draining) {
        agreed = finish_draining();
        if (!agreed.status.ok()) fail(agreed, draining);
    }
    if (mpi::Agreed closed = method->close(times); agreed.status.ok()) agreed = closed;
    lock.release();
    Status status;
    if (is_open) {
        status = {ErrorCode::invalid_argument, "close: the step of time " +
                                                   std::to_string(step.description.time) +
                                                   " was not ended (end_step): its fields are not written"};
    }
    const mpi::Agreed ended = mpi::agree(comm, status);
    return agreed.status.ok() ? ended : agreed;
}

void Output::Impl::fail(const mpi::Agreed& agreed, const Step& failed) noexcept {
    failure = agreed.status;
    method->abandon(failed);
    discard_part();
}

Output Output::create(const Comm& comm, std::string_view prefix, OutputOptions options) {
    if (!comm) throw Error(ErrorCode::invalid_argument, "Output::create: the communicator is empty");
    auto impl = std::make_unique<Impl>();
    impl->comm = comm;
    impl->prefix = prefix;
    impl->options = std::move(options);
    Status status = guarded("Output::create", [&] { return check_options(prefix, impl->options); });
    status.keep_first(guarded("Output::create", [&] { return impl->make_method(); }));
    agree_on_options(comm, status, prefix, impl->options).throw_if_error();
    if (impl->is_rank_0()) status = guarded("Output::create", [&] { return impl->claim(); });
    mpi::agree_or_throw(comm, status);
    ByteWriter writer;
    writer.put(impl->run);
    writer.put(impl->next_step);
    std::vector<std::byte> bytes = writer.take();
    mpi::broadcast(comm, bytes, 0);
    ByteReader reader(bytes);
    impl->run = reader.get<output::RunId>();
    impl->next_step = reader.get<std::int64_t>();
    impl->step.description.title = impl->options.title;
    impl->step.description.time_units = impl->options.time_units;
    impl->step.description.axes = impl->options.axes;
    return Output(std::move(impl));
}

Output::Output(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Output::Output(Output&&) noexcept = default;

Output& Output::operator=(Output&& other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
}

Output::~Output() {
    if (!impl_) return;
    impl_->method.reset();  // ends what runs in the background before the file goes
    impl_->discard_part();
}

void Output::begin_step(double time) {
    impl_->throw_if_unusable("begin_step");
    if (impl_->is_open)
        throw Error(ErrorCode::invalid_argument, "begin_step: the step before is not ended (end_step)");
    impl_->is_open = true;
    impl_->put_status = {};
    if (!std::isfinite(time))
        impl_->put_status = {ErrorCode::invalid_argument, "begin_step: the time is not a number"};
    Step& step = impl_->step;
    step.path = output::step_path(impl_->prefix, impl_->next_step, impl_->format->extension());
    step.run = impl_->run;
    step.number = impl_->next_step;
    step.part_path = output::part_path(step.path, output::token(step.run, step.number));
    step.description.time = time;
    step.description.fields.clear();
    impl_->held.clear();
}

void Output::put(const Field& field) {
    impl_->throw_if_unusable("put");
    if (!impl_->is_open) throw Error(ErrorCode::invalid_argument, "put: no step is open (begin_step)");
    Result<output::HeldBlock> held = output::held_block(field);
    if (!held.ok()) {
        impl_->put_status.keep_first(
            {held.status().code(), "field " + field.name + ": " + held.status().text()});
        held = output::HeldBlock{.block = field.block, .first = nullptr, .strides_bytes = {}};
        held.value().block.count.assign(field.block.count.size(), 0);
    }
    impl_->add({.name = field.name,
                .units = field.units,
                .long_name = field.long_name,
                .standard_name = field.standard_name,
                .type = static_cast<format::ValueType>(field.data.index()),
                .global = field.block.global,
                .dims = field.dims},
               std::move(held).value());
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
    if (step.description.fields != impl_->fields_before) {
        impl_->put_status.keep_first(guarded("end_step", [&] {
            Status status = format::check_description(step.description);
            return status.ok() ? impl_->format->check(step.description) : status;
        }));
    }
    const mpi::Agreed agreed = impl_->run_step();
    if (!agreed.status.ok()) {
        impl_->fail(agreed, step);
        agreed.throw_if_error();
    }
    ++impl_->next_step;
    for (std::size_t f = 0; f < impl_->held.size(); ++f) {
        for (const output::HeldBlock& one : impl_->held[f])
            impl_->times.bytes +=
                one.block.num_elements() * format::bytes_of(step.description.fields[f].type);
    }
}

void Output::close() {
    if (impl_->is_closed) return;
    impl_->is_closed = true;
    const mpi::Agreed agreed = impl_->run_close();
    impl_->is_open = false;
    agreed.throw_if_error();
}

OutputTimes Output::times() const {
    return impl_->times;
}
std::string_view Output::method() const {
    return impl_->method_name;
}

}  // namespace hakobi
