#include <algorithm>
#include <cstdio>

#include "base/guard.hpp"
#include "io/engine.hpp"
#include "output/method.hpp"

namespace hakobi::output {
namespace {

/// Hakobi's engine: one collective write a step, of all fields at once, so that the pipeline fills and drains
/// once.
class Pipelined final : public Method {
  public:
    Pipelined(const MethodSettings& settings, io::EngineOptions engine_options)
        : comm_(settings.comm), options_(settings.options), engine_options_(std::move(engine_options)) {}

    mpi::Agreed write(const Step& step) override {
        mpi::Agreed agreed = io::Engine::open(comm_, {step.part_path, true}, engine_options_, engine_);
        if (!agreed.status.ok()) {
            engine_.reset();
            return agreed;
        }
        Region file, memory;
        const Status local = guarded("describing the step", [&] {
            file = file_region(step);
            memory = memory_region(step);
        });
        if (options_.asynchronous) {
            agreed = engine_->start_write_all(file, nullptr, memory, local);
            if (agreed.status.ok()) return agreed;
        } else {
            agreed = engine_->write_all(file, nullptr, memory, local);
        }
        return end_file(std::move(agreed));
    }

    [[nodiscard]] bool is_draining() const override { return engine_ != nullptr; }

    mpi::Agreed wait() override { return end_file(engine_->wait()); }

  private:
    /// The fields that this rank has values of, by their place in the file: not always the order of put,
    /// since a small field may stand in the gap before an aligned one.
    static std::vector<std::size_t> fields_in_file_order(const Step& step) {
        std::vector<std::size_t> order;
        for (std::size_t f = 0; f < step.parts.size(); ++f) {
            if (!step.parts[f].values.empty()) order.push_back(f);
        }
        const std::vector<std::int64_t>& offsets = step.layout.offsets_bytes;
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return offsets[a] < offsets[b]; });
        return order;
    }

    static Region file_region(const Step& step) {
        std::vector<Region::Part> parts;
        for (const std::size_t f : fields_in_file_order(step)) {
            const Block& block = step.parts[f].block;
            parts.push_back(
                {.region = Region::subarray(step.layout.offsets_bytes[f], block.global, block.start,
                                            block.count, format::bytes_of(step.description.fields[f].type))});
        }
        return Region::concatenated(parts);
    }

    /// The same values by their addresses.
    static Region memory_region(const Step& step) {
        std::vector<Region::Part> parts;
        for (const std::size_t f : fields_in_file_order(step)) {
            const std::span<const std::byte> values = step.parts[f].values;
            const auto address = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(values.data()));
            parts.push_back({.region = Region::contiguous(address, std::ssize(values))});
        }
        return Region::concatenated(parts);
    }

    /// Closes the engine also after an error: its close is collective, and the error is the same on all
    /// ranks.
    mpi::Agreed end_file(mpi::Agreed agreed) {
        const std::unique_ptr<io::Engine> engine = std::move(engine_);
        if (agreed.status.ok() && options_.sync) agreed = engine->sync();
        mpi::Agreed closed = engine->close();
        return agreed.status.ok() ? closed : agreed;
    }

    Comm comm_;
    OutputOptions options_;
    io::EngineOptions engine_options_;
    std::unique_ptr<io::Engine> engine_;  // of the step under way
};

}  // namespace

Result<std::unique_ptr<Method>> make_pipelined(const MethodSettings& settings) {
    std::vector<std::string> warnings;
    Result<io::EngineOptions> engine_options = io::engine_options(settings.options.hints, warnings);
    if (!engine_options.ok()) return engine_options.status();
    if (settings.comm.rank() == 0) {
        for (const std::string& warning : warnings) std::fprintf(stderr, "hakobi: %s\n", warning.c_str());
    }
    return std::unique_ptr<Method>(new Pipelined(settings, std::move(engine_options).value()));
}

}  // namespace hakobi::output
