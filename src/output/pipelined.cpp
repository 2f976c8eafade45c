#include "output/pipelined.hpp"

#include <algorithm>
#include <deque>

#include "base/guard.hpp"
#include "io/engine.hpp"
#include "output/hidden_writer.hpp"
#include "series/receipts.hpp"

namespace hakobi::output {
namespace {

class Pipelined final : public Method {
  public:
    Pipelined(const MethodSettings& settings, io::EngineOptions engine_options)
        : comm_(settings.comm),
          options_(settings.options),
          is_hidden_(settings.hidden.is_on),
          engine_options_(std::move(engine_options)) {}

    [[nodiscard]] bool writes_metadata() const override { return is_hidden_; }
    [[nodiscard]] bool takes_device_memory() const override { return true; }

    mpi::Agreed write(const Step& step) override {
        std::unique_ptr<io::Engine> engine;
        mpi::Agreed agreed = io::Engine::open(comm_, {step.part_path, true}, engine_options_, engine);
        if (!agreed.status.ok()) return agreed;
        Part all;
        const Status local = guarded("describing the step",
                                     [&] { all = series::concatenated(in_file_order(parts_of(step))); });
        if (is_hidden_) {
            const io::WhenStored when_stored{
                .tell = [of = series::receipt_of(step)](
                            storage::File& file, int writer,
                            int num_writers) { series::write_receipt(file, of, writer, num_writers); },
                .sync = options_.sync};
            agreed = engine->start_write_all(all.file, nullptr, all.memory, local, when_stored,
                                             step.device.memory);
            if (agreed.status.ok()) {
                hidden_.push_back(std::move(engine));
                return agreed;
            }
        } else {
            agreed = engine->write_all(all.file, nullptr, all.memory, local, step.device.memory);
        }
        return end_file(*engine, std::move(agreed));
    }

    [[nodiscard]] int num_hidden() const override { return static_cast<int>(hidden_.size()); }
    [[nodiscard]] int num_stored() const override {
        const auto first = std::ranges::find_if(hidden_, [](const auto& each) { return !each->is_stored(); });
        return static_cast<int>(first - hidden_.begin());
    }
    [[nodiscard]] int most_hidden() const override { return HiddenFiles::most; }

    mpi::Agreed wait(double& stored_s) override {
        const std::unique_ptr<io::Engine> engine = std::move(hidden_.front());
        hidden_.pop_front();
        stored_s = engine->wait_for_own_storage();
        return end_file(*engine, {});
    }

    // Those after the step that failed are not closed, which would be collective; their engines wait for what
    // is under way.
    void abandon(const Step&) override { hidden_.clear(); }

  private:
    /// This rank's values, and rank 0's metadata where nobody has written them.
    [[nodiscard]] std::vector<Part> parts_of(const Step& step) const {
        std::vector<Part> parts = step.parts;
        if (!writes_metadata()) return parts;
        for (const format::Extent& extent : step.layout.metadata) {
            const std::int64_t bytes = std::ssize(extent.bytes);
            parts.push_back(
                {Region::contiguous(extent.offset_bytes, bytes),
                 Region::contiguous(reinterpret_cast<std::intptr_t>(extent.bytes.data()), bytes)});
        }
        return parts;
    }

    /// Not always the order of put: a small array may stand in the gap before an aligned one.
    static std::vector<Part> in_file_order(std::vector<Part> parts) {
        std::erase_if(parts, [](const Part& part) { return part.file.empty(); });
        std::ranges::sort(parts, {}, [](const Part& part) { return part.file.begin_bytes(); });
        return parts;
    }

    /// Closes the engine also after an error: its close is collective, and the error is the same on all
    /// ranks.
    mpi::Agreed end_file(io::Engine& engine, mpi::Agreed agreed) {
        if (agreed.status.ok() && options_.sync) agreed = engine.sync();
        mpi::Agreed closed = engine.close();
        return agreed.status.ok() ? closed : agreed;
    }

    Comm comm_;
    OutputOptions options_;
    bool is_hidden_;
    io::EngineOptions engine_options_;
    std::deque<std::unique_ptr<io::Engine>> hidden_;  // of steps whose values are not stored yet
};

}  // namespace

Result<std::unique_ptr<Method>> make_pipelined(const MethodSettings& settings) {
    std::vector<std::string> said;  // by Setup
    Result<io::EngineOptions> engine_options = io::engine_options(settings.options.hints, said);
    if (!engine_options.ok()) return engine_options.status();
    // The hint holds where OutputOptions does not name a bound.
    if (settings.hidden.is_bound_given ||
        engine_options.value().async_budget_bytes == io::EngineOptions().async_budget_bytes)
        engine_options.value().async_budget_bytes = settings.hidden.node_bytes;
    return std::unique_ptr<Method>(new Pipelined(settings, std::move(engine_options).value()));
}

}  // namespace hakobi::output
