#include "put.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <hakobi/block.hpp>
#include <hakobi/input.hpp>
#include <hakobi/output.hpp>
#include <optional>

#include "base/clock.hpp"

namespace hakobi::bench {
namespace {

constexpr std::int64_t value_bytes = sizeof(double);
constexpr double not_put = -1;

/// Where a step's values come from, or go to.
enum class Place { host, device, by_hand };
constexpr std::array<std::pair<Place, const char*>, 3> places{{{Place::host, "host memory"},
                                                               {Place::device, "hakobi, device memory"},
                                                               {Place::by_hand, "copy, then host"}}};

Role role_of(Place place) {
    return place == Place::host ? Role::floor : place == Place::device ? Role::ours : Role::rival;
}

/// The field of a rank in its three places; entrants use it one after the other.
struct PutMemory {
    DeviceSite& site;
    PutShape shape;
    Block block;
    std::vector<double> host;
    LockedArray locked;
    device::Buffer device;

    static std::shared_ptr<PutMemory> make(DeviceSite& site, const PutShape& shape) {
        const std::int64_t n = shape.extent, side = n + 2 * shape.ghost;
        const std::int64_t values = side * side * side;
        const std::vector<std::int64_t> large(3, std::int64_t{1} << 20);
        const std::vector<int> dims = dims_of_ranks(large, site.comm.size());
        Block block;
        for (int d = 2, rest = site.comm.rank(); d >= 0; --d) {
            const int num = dims[static_cast<std::size_t>(d)];
            block.global.insert(block.global.begin(), n * num);
            block.start.insert(block.start.begin(), n * (rest % num));
            block.count.insert(block.count.begin(), n);
            rest /= num;
        }
        return std::make_shared<PutMemory>(
            PutMemory{site, shape, std::move(block), std::vector<double>(static_cast<std::size_t>(values)),
                      agreed(site.comm, LockedArray::make(site.device, values * value_bytes)),
                      agreed(site.comm, device::Buffer::on(site.device, values * value_bytes))});
    }

    [[nodiscard]] std::int64_t num_values() const { return std::ssize(host); }
    [[nodiscard]] std::int64_t array_bytes() const { return num_values() * value_bytes; }
    [[nodiscard]] std::int64_t block_bytes() const { return block.num_elements() * value_bytes; }
    [[nodiscard]] std::vector<std::int64_t> ghosts() const {
        return shape.ghost == 0 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>(3, shape.ghost);
    }
    [[nodiscard]] double* data(Place place) {
        return place == Place::host      ? host.data()
               : place == Place::by_hand ? locked.as<double>()
                                         : reinterpret_cast<double*>(device.data());
    }
    void to_device(const double* values) { site.copy(device.data(), values, array_bytes()); }
    void to_host(double* values) { site.copy(values, device.data(), array_bytes()); }

    /// Own values say where in the global field they are, ghosts that they are none. The host's array has
    /// them.
    void fill(int round) {
        std::ranges::fill(host, not_put);
        each_own([&](double& value, std::int64_t global) { value = value_at(global, round); });
    }
    [[nodiscard]] std::int64_t count_wrong(int round) {
        std::int64_t num_wrong = 0, num_ghosts = 0;
        for (const double value : host) num_ghosts += value == not_put;
        each_own([&](double value, std::int64_t global) { num_wrong += value != value_at(global, round); });
        return num_wrong + std::abs(num_ghosts - (num_values() - block.num_elements()));
    }

  private:
    static double value_at(std::int64_t global, int round) {
        return static_cast<double>(global * 16 + round % 16);
    }
    template <class Visit>
    void each_own(Visit visit) {
        const std::int64_t n = shape.extent, side = n + 2 * shape.ghost;
        for (std::int64_t z = 0; z < n; ++z) {
            for (std::int64_t y = 0; y < n; ++y) {
                double* row = host.data() + ((z + shape.ghost) * side + y + shape.ghost) * side + shape.ghost;
                const std::int64_t global =
                    ((block.start[0] + z) * block.global[1] + block.start[1] + y) * block.global[2] +
                    block.start[2];
                for (std::int64_t x = 0; x < n; ++x) visit(row[x], global + x);
            }
        }
    }
};

using SharedMemory = std::shared_ptr<PutMemory>;

constexpr std::string_view field_name = "field";

void put_step(Output& output, PutMemory& m, Place place, double time_s) {
    if (place == Place::by_hand) m.to_host(m.data(place));
    output.begin_step(time_s);
    output.put({.name = std::string(field_name),
                .block = m.block,
                .data = std::span<const double>(m.data(place), static_cast<std::size_t>(m.num_values())),
                .ghosts = m.ghosts(),
                .memory = place == Place::device ? Memory::device : Memory::host});
    output.end_step();
}

void read_step(Input& input, PutMemory& m, Place place) {
    input.read({.name = std::string(field_name),
                .block = m.block,
                .data = std::span<double>(m.data(place), static_cast<std::size_t>(m.num_values())),
                .ghosts = m.ghosts(),
                .memory = place == Place::device ? Memory::device : Memory::host});
    if (place == Place::by_hand) m.to_device(m.data(place));
}

Output make_output(PutMemory& m, const std::string& prefix, bool is_hidden) {
    return Output::create(m.site.comm, prefix,
                          {.method = m.shape.method,
                           .sync = m.shape.is_synced,
                           .asynchronous = is_hidden,
                           .if_exists = IfExists::replace});
}

/// The copy of as many contiguous bytes between the device and page-locked memory.
class CopyAlone final : public DeviceEntrant {
  public:
    CopyAlone(SharedMemory memory, bool is_to_host) : memory_(std::move(memory)), is_to_host_(is_to_host) {}
    void fill(int) override {}
    void run() override {
        PutMemory& m = *memory_;
        std::byte* const host = m.locked.data();
        std::byte* const device = m.device.data();
        m.site.copy(is_to_host_ ? host : device, is_to_host_ ? device : host, m.block_bytes());
    }
    std::int64_t count_wrong(int) override { return 0; }  // the cases of copies verify it

  private:
    SharedMemory memory_;
    bool is_to_host_;
};

/// One step, or handing one over: a file of its own each time, so that storing it begins and ends with the
/// sample.
class PutStep final : public DeviceEntrant {
  public:
    PutStep(SharedMemory memory, Place place, bool is_hidden)
        : memory_(std::move(memory)),
          place_(place),
          is_hidden_(is_hidden),
          prefix_(memory_->shape.folder + "/put" + std::to_string(static_cast<int>(place)) +
                  (is_hidden ? "hidden" : "")) {}
    void fill(int round) override {
        memory_->fill(round);
        memory_->to_device(memory_->host.data());
    }
    void prepare() override { output_.emplace(make_output(*memory_, prefix_, is_hidden_)); }
    void run() override { put_step(*output_, *memory_, place_, 0); }
    void finish() override {
        explanation_ = output_->explain();
        output_->close();
        output_.reset();
    }
    std::int64_t count_wrong(int round) override {
        std::ranges::fill(memory_->host, not_put);
        Input input = Input::open(memory_->site.comm, prefix_);
        read_step(input, *memory_, Place::host);
        input.close();
        return memory_->count_wrong(round);
    }
    std::string explain() const override { return explanation_; }

  private:
    SharedMemory memory_;
    Place place_;
    bool is_hidden_;
    std::string prefix_, explanation_;
    std::optional<Output> output_;
};

/// One block of a step that lies in the page cache, where memory permits.
class ReadStep final : public DeviceEntrant {
  public:
    ReadStep(SharedMemory memory, Place place)
        : memory_(std::move(memory)),
          place_(place),
          prefix_(memory_->shape.folder + "/read" + std::to_string(static_cast<int>(place))) {}
    void fill(int round) override {
        memory_->fill(round);
        Output output = make_output(*memory_, prefix_, false);
        put_step(output, *memory_, Place::host, 0);
        output.close();
        std::ranges::fill(memory_->host, not_put);
        std::ranges::copy(memory_->host, memory_->data(Place::by_hand));
        memory_->to_device(memory_->host.data());
    }
    void prepare() override { input_.emplace(Input::open(memory_->site.comm, prefix_)); }
    void run() override { read_step(*input_, *memory_, place_); }
    void finish() override {
        explanation_ = input_->explain(field_name);
        input_->close();
        input_.reset();
    }
    std::int64_t count_wrong(int round) override {
        if (place_ != Place::host) memory_->to_host(memory_->host.data());
        return memory_->count_wrong(round);
    }
    std::string explain() const override { return explanation_; }

  private:
    SharedMemory memory_;
    Place place_;
    std::string prefix_, explanation_;
    std::optional<Input> input_;
};

/// The processor is busy and touches no memory, as that of a program whose device computes.
void compute(double duration_s) {
    const double until_s = now_s() + duration_s;
    while (now_s() < until_s) {
    }
}

/// A program's whole run.
class Run final : public DeviceEntrant {
  public:
    Run(SharedMemory memory, std::optional<Place> place, HiddenRun run)
        : memory_(std::move(memory)),
          place_(place),
          run_(run),
          prefix_(memory_->shape.folder + "/run" + (place ? std::to_string(static_cast<int>(*place)) : "")) {}
    void fill(int round) override {
        memory_->fill(round);
        memory_->to_device(memory_->host.data());
    }
    void prepare() override {
        if (place_) output_.emplace(make_output(*memory_, prefix_, true));
    }
    void run() override {
        for (int step = 0; step < run_.num_steps; ++step) {
            if (place_) put_step(*output_, *memory_, *place_, step);
            compute(run_.compute_s);
        }
        if (!place_) return;
        explanation_ = output_->explain();
        output_->close();
    }
    void finish() override { output_.reset(); }
    std::int64_t count_wrong(int round) override {
        if (!place_) return 0;
        std::ranges::fill(memory_->host, not_put);
        Input input = Input::open(memory_->site.comm, prefix_);
        read_step(input, *memory_, Place::host);
        const bool has_all = std::ssize(input.steps()) == run_.num_steps;
        input.close();
        return memory_->count_wrong(round) + (has_all ? 0 : 1);
    }
    std::string explain() const override { return explanation_; }

  private:
    SharedMemory memory_;
    std::optional<Place> place_;
    HiddenRun run_;
    std::string prefix_, explanation_;
    std::optional<Output> output_;
};

DeviceCase case_of(const PutMemory& memory, const std::string& what) {
    const PutShape& shape = memory.shape;
    DeviceCase made;
    made.text = what + ", " + std::to_string(shape.extent) + "^3 doubles a rank" +
                (shape.ghost > 0 ? " with ghosts" : "") + ", " + shape.method + ", in " + shape.folder +
                (shape.is_synced ? ", synced" : "");
    made.facts["part"] = "put";
    made.facts["what"] = what;
    made.facts["extent"] = shape.extent;
    made.facts["ghost"] = shape.ghost;
    made.facts["method"] = shape.method;
    made.facts["folder"] = shape.folder;
    made.facts["synced"] = shape.is_synced;
    return made;
}

}  // namespace

std::vector<DeviceCase> put_cases(DeviceSite& site, const PutShape& shape) {
    const SharedMemory memory = PutMemory::make(site, shape);
    const std::int64_t bytes = memory->block_bytes() * site.comm.size();
    std::vector<DeviceCase> cases;
    for (const bool is_hidden : {false, true}) {
        DeviceCase& made = cases.emplace_back(
            case_of(*memory, is_hidden ? "put, what the program waits for when hidden" : "put, not hidden"));
        made.entrants.push_back(
            {"copy alone", Role::floor, bytes, std::make_unique<CopyAlone>(memory, true)});
        for (const auto& [place, name] : places)
            made.entrants.push_back(
                {name, role_of(place), bytes, std::make_unique<PutStep>(memory, place, is_hidden)});
    }
    DeviceCase& made = cases.emplace_back(case_of(*memory, "read"));
    made.entrants.push_back({"copy alone", Role::floor, bytes, std::make_unique<CopyAlone>(memory, false)});
    for (const auto& [place, name] : places)
        made.entrants.push_back({name, role_of(place), bytes, std::make_unique<ReadStep>(memory, place)});
    return cases;
}

DeviceCase hidden_case(DeviceSite& site, const PutShape& shape, const HiddenRun& run) {
    const SharedMemory memory = PutMemory::make(site, shape);
    const std::int64_t bytes = memory->block_bytes() * site.comm.size() * run.num_steps;
    DeviceCase made = case_of(*memory, "a run with hidden steps");
    char steps[64];
    std::snprintf(steps, sizeof steps, ", %d steps of %g s", run.num_steps, run.compute_s);
    made.text += steps;
    made.facts["steps"] = run.num_steps;
    made.facts["compute_s"] = run.compute_s;
    made.is_run = true;
    made.entrants.push_back(
        {"no output", Role::floor, bytes, std::make_unique<Run>(memory, std::nullopt, run)});
    // Here host memory is a rival: the least that a run can take is that of none.
    for (const auto& [place, name] : places)
        made.entrants.push_back({name, place == Place::device ? Role::ours : Role::rival, bytes,
                                 std::make_unique<Run>(memory, place, run)});
    return made;
}

}  // namespace hakobi::bench
