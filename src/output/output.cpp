#include <hakobi/output.hpp>

#include "base/clock.hpp"
#include "output/output_impl.hpp"

namespace hakobi {

Output Output::create(const Comm& comm, std::string_view prefix, OutputOptions options) {
    if (!comm) throw Error(ErrorCode::invalid_argument, "Output::create: the communicator is empty");
    auto impl = std::make_unique<Impl>(
        output::Setup{.comm = comm, .prefix = std::string(prefix), .options = std::move(options)});
    impl->create();
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

void Output::begin_step(double time) {
    impl_->throw_if_unusable("begin_step");
    if (impl_->draft.is_open())
        throw Error(ErrorCode::invalid_argument,
                    "begin_step: the previous step has not been ended (end_step)");
    impl_->draft.begin(impl_->own_series, time);
}

FieldId Output::define(const FieldDefinition& definition) {
    impl_->throw_if_unusable("define");
    FieldId id{};
    impl_->draft.definitions().define(definition, id).throw_if_error();
    return id;
}

void Output::put(FieldId field, const Block& block, Field::Data data, const MemoryLayout& layout) {
    impl_->throw_if_unusable("put", true);
    impl_->draft.put(field, block, data, layout);
}

void Output::put(const Field& field) {
    impl_->throw_if_unusable("put", true);
    impl_->draft.put(field);
}

void Output::put_mesh(const Mesh& mesh) {
    impl_->throw_if_unusable("put_mesh", true);
    impl_->draft.put_mesh(mesh);
}

void Output::put_points(Mesh::Points points) {
    impl_->throw_if_unusable("put_points", true);
    impl_->draft.put_points(points);
}

void Output::refuse(std::string_view reason) {
    impl_->throw_if_unusable("put", true);
    impl_->draft.keep_mistake({ErrorCode::invalid_argument, std::string(reason)});
}

void Output::end_step() {
    impl_->throw_if_unusable("end_step", true);
    const std::int64_t bytes = impl_->draft.end();
    mpi::Agreed agreed = impl_->run_step();
    impl_->draft.release();
    if (!agreed.status.ok()) {
        impl_->fail(agreed);
        agreed.throw_if_error();
    }
    impl_->hidden.end_call();
    impl_->own_series.count_step();
    impl_->timing.phases().bytes += bytes;
}

void Output::flush() {
    impl_->throw_if_unusable("flush");
    if (impl_->draft.is_open())
        throw Error(ErrorCode::invalid_argument, "flush: the step has not been ended (end_step)");
    mpi::Agreed agreed = impl_->run_flush();
    if (agreed.status.ok()) return impl_->hidden.end_call();
    impl_->fail(agreed);
    agreed.throw_if_error();
}

void Output::close() {
    if (impl_->is_closed || !impl_->maker().is_this_process()) return;
    impl_->is_closed = true;
    const mpi::Agreed agreed = impl_->run_close();
    impl_->say_how();
    agreed.throw_if_error();
}

OutputTimes Output::times() const {
    return impl_->timing.now();
}
std::string_view Output::method() const {
    const std::string_view chosen = impl_->setup.method->name();
    return chosen.empty() ? impl_->setup.entry->name : chosen;
}
std::string Output::explain() const {
    return impl_->text();
}

}  // namespace hakobi
