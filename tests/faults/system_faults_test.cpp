// Fails the n-th fsync, fdatasync, close, rename, truncate, unlink and mkdir of each rank, and the n-th put
// of an object, for every n that occurs, in runs of three steps: of all formats, methods, hidden or not, over
// a stage or not, a file a step or one for all, with sync or not. Each run ends on all ranks with one Error,
// or has lost nothing; what is there has the right values.
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <set>

#include "output/mesh_fixture.hpp"
#include "quiet.hpp"
#include "storage/objects/faulty_objects.hpp"
#include "storage/objects/object_files.hpp"
#include "storage/objects/stores.hpp"
#include "system_calls.hpp"

namespace hakobi::test {
namespace {

constexpr int num_steps = 3;
const std::vector<TestField> grid_fields = {{"eta", format::ValueType::float64, {11, 7}, even_blocks},
                                            {"u", format::ValueType::float32, {2, 11, 7}, backward_columns}};

/// The number of each option's value among its values.
constexpr std::size_t num_options = 6;
using Choice = std::array<int, num_options>;
struct Setting {
    Choice choice{};
    OutputOptions options;
    bool has_stage = false;

    [[nodiscard]] std::string text() const {
        return options.method + " " + options.format + (*options.asynchronous ? " hidden" : "") +
               (has_stage ? " staged" : "") + (options.steps_per_file == 1 ? "" : " in one file") +
               (options.sync ? " synced" : "");
    }
};

class SystemFaults : public RanksTest {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        make_folders();
    }
    void make_folders() {
        place = folder + "/place";
        if (is_rank_0()) {
            for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
            fs::create_directory(folder + "/stage");
        }
        barrier();
    }

    [[nodiscard]] Setting setting_of(const Choice& choice) const {
        Setting setting{.choice = choice, .options = {}};
        setting.options.format = output_formats()[static_cast<std::size_t>(choice[0])];
        setting.options.method = writing_methods()[static_cast<std::size_t>(choice[1])];
        setting.options.asynchronous = choice[2] == 1;
        setting.has_stage = choice[3] == 1;
        setting.options.steps_per_file = choice[4] == 1 ? all_steps : 1;
        setting.options.sync = choice[5] == 1;
        if (setting.has_stage)
            setting.options.hints = {{"hakobi_stage", folder + "/stage"}, {"hakobi_stage_patience", "2"}};
        return setting;
    }
    /// Those that Output takes. Collective.
    std::vector<Setting> all_settings() {
        const Choice num = {static_cast<int>(std::ssize(output_formats())),
                            static_cast<int>(std::ssize(writing_methods())),
                            2,
                            2,
                            2,
                            2};
        std::vector<Setting> settings;
        for (Choice choice{};;) {
            const Setting setting = setting_of(choice);
            const Error error = error_of([&] {
                Output out = Output::create(comm, place + "/run", setting.options);
                out.close();
            });
            if (error.code() == ErrorCode::ok) settings.push_back(setting);
            std::size_t option = 0;
            while (option < num_options && ++choice[option] == num[option]) choice[option++] = 0;
            if (option == num_options) return settings;
        }
    }
    /// So many of them that each pair of two options' values occurs that occurs in all.
    static std::vector<Setting> pairs_of(std::vector<Setting> settings) {
        using Pair = std::array<std::size_t, 4>;
        const auto pairs_in = [](const Setting& setting) {
            std::set<Pair> pairs;
            for (std::size_t a = 0; a < num_options; ++a) {
                for (std::size_t b = 0; b < a; ++b)
                    pairs.insert({a, static_cast<std::size_t>(setting.choice[a]), b,
                                  static_cast<std::size_t>(setting.choice[b])});
            }
            return pairs;
        };
        std::set<Pair> had;
        std::vector<Setting> taken;
        for (;;) {
            const auto gain = [&](const Setting& setting) {
                return std::ranges::count_if(pairs_in(setting),
                                             [&](const Pair& pair) { return !had.contains(pair); });
            };
            const auto best = std::ranges::max_element(settings, {}, gain);
            if (best == settings.end() || gain(*best) == 0) return taken;
            had.merge(pairs_in(*best));
            taken.push_back(*best);
        }
    }

    [[nodiscard]] static bool has_mesh(const Setting& setting) {
        return format::find_format(setting.options.format).value()->holds_meshes();
    }
    void put_step(Output& out, const Setting& setting, int step) const {
        if (!has_mesh(setting)) return write_step(out, comm, step, grid_fields);
        const RankMesh mine(comm.rank(), comm.size(), step);
        std::vector<Values> kept;
        out.begin_step(step);
        if (step == 0) {
            out.put_mesh(mine.mesh(Motion::moves));
        } else {
            out.put_points(std::span<const double>(mine.points));
        }
        put_mesh_fields(out, mine, step, kept);
        out.end_step();
    }

    /// The values of a field that all ranks together have put.
    [[nodiscard]] std::vector<double> values_of(const Setting& setting, int step) const {
        std::vector<double> all;
        const auto append = [&](std::span<const std::byte> bytes) {
            const auto* const values = reinterpret_cast<const double*>(bytes.data());
            all.insert(all.end(), values, values + bytes.size() / sizeof(double));
        };
        if (!has_mesh(setting)) {
            append(reference_array(0, grid_fields[0], step, comm.size()));
            return all;
        }
        for (int rank = 0; rank < comm.size(); ++rank)
            append(values_on_mesh(0, mesh_fields[0], step, RankMesh(rank, comm.size(), step)).bytes());
        return all;
    }
    /// Says what is wrong with the steps at a prefix, and how many there are. Local. Pieces of a mesh's step
    /// that could not be gathered are not wrong where they `may_be_in_pieces`: the error names them, and what
    /// to do.
    [[nodiscard]] std::string look_at(const std::string& prefix, const Setting& setting,
                                      bool may_be_in_pieces, int& num_found) const {
        num_found = 0;
        std::string wrong;
        const Error error = error_of([&] {
            Input in = Input::open(prefix);
            for (const std::int64_t step : in.steps()) {
                std::vector<double> found(values_of(setting, static_cast<int>(step)).size());
                in.read({.name = has_mesh(setting) ? mesh_fields[0].name : grid_fields[0].name,
                         .step = step,
                         .data = std::span(found)});
                if (found != values_of(setting, static_cast<int>(step)))
                    wrong += "step " + std::to_string(step) + " has wrong values; ";
                ++num_found;
            }
        });
        const bool is_in_pieces = may_be_in_pieces && error.code() == ErrorCode::unsupported;
        if (error.code() != ErrorCode::ok && error.code() != ErrorCode::not_found && !is_in_pieces)
            wrong += error.what();
        return wrong;
    }

    struct Counts {
        int num_runs = 0, num_errors = 0, num_steps_kept = 0;
    };
    /// A run in which `arm` has let one call fail, which `disarm` says. Returns whether it did on any rank.
    /// Collective.
    bool hold(const Setting& setting, const std::string& prefix, const std::function<void()>& arm,
              const std::function<bool()>& disarm, Counts& counts) {
        std::unique_ptr<Output> out;
        int num_found = 0, fires = 0;
        std::string wrong, after;
        Error error{ErrorCode::ok, ""}, closed{ErrorCode::ok, ""};
        bool is_resumed = true;
        {
            const Quiet quiet;
            arm();
            error = error_of([&] {
                out = std::make_unique<Output>(Output::create(comm, prefix, setting.options));
                for (int step = 0; step < num_steps; ++step) put_step(*out, setting, step);
            });
            closed = error_of([&] {
                if (out) out->close();
            });
            out.reset();
            fires = disarm() ? 1 : 0;
            MPI_Allreduce(MPI_IN_PLACE, &fires, 1, MPI_INT, MPI_MAX, comm.handle());
            const bool may_be_in_pieces = has_mesh(setting) && setting.options.method == "per-process";
            if (is_rank_0()) wrong = look_at(prefix, setting, may_be_in_pieces, num_found);
        }
        const bool is_ok = error.code() == ErrorCode::ok && closed.code() == ErrorCode::ok;
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, closed)) << closed.what();
        if (is_rank_0()) {
            EXPECT_EQ(wrong, "") << error.what() << closed.what();
            EXPECT_TRUE(!is_ok || num_found == num_steps)
                << "no error, and " << num_found << " of " << num_steps << " steps are there";
            EXPECT_TRUE(fires != 0 || is_ok) << "an error without a cause: " << error.what() << closed.what();
        }
        // Whatever happened, the next run goes on.
        Setting next = setting;
        next.options.if_exists = IfExists::resume;
        {
            const Quiet quiet;
            error = error_of([&] {
                Output resumed = Output::create(comm, prefix, next.options);
                MPI_Bcast(&num_found, 1, MPI_INT, 0, comm.handle());
                for (int step = num_found; step < num_steps && !has_mesh(setting); ++step)
                    put_step(resumed, setting, step);
                resumed.close();
            });
            if (is_rank_0()) after = look_at(prefix, setting, false, num_found);
            is_resumed = error.code() == ErrorCode::ok;
        }
        EXPECT_TRUE(is_resumed) << "the next run: " << error.what();
        if (is_rank_0()) {
            EXPECT_EQ(after, "") << "after the next run";
            EXPECT_TRUE(has_mesh(setting) || !is_resumed || num_found == num_steps)
                << num_found << " steps after the next run";
        }
        ++counts.num_runs;
        counts.num_errors += is_ok ? 0 : 1;
        counts.num_steps_kept += num_found;
        return fires != 0;
    }

    void fail_each_call(const Setting& setting, std::map<std::string, Counts>& counts) {
        for (const SystemCall call : storing_calls) {
            for (int rank = 0; rank < comm.size(); ++rank) {
                bool fires = true;
                for (std::int64_t nth = 1; fires; ++nth) {
                    SCOPED_TRACE(setting.text() + ": " + std::string(name_of(call)) + " " +
                                 std::to_string(nth) + " on rank " + std::to_string(rank));
                    const bool is_here = rank == comm.rank();
                    fires = hold(
                        setting, place + "/run",
                        [&] { fail_call(is_here ? call : SystemCall::none, nth, folder); }, end_failing,
                        counts[std::string(name_of(call))]);
                    make_folders();
                    if (has_any_rank_failed()) return;
                    ASSERT_LT(nth, 1000) << "the calls do not end";
                }
            }
        }
    }
    /// Steps over a stage to objects, in this process's memory.
    void fail_each_put(const Setting& setting, std::map<std::string, Counts>& counts) {
        static int number = 0;
        if (!setting.has_stage) return;
        for (const auto kind : {storage::ObjectFault::Kind::error, storage::ObjectFault::Kind::lost}) {
            bool fires = true;
            for (std::int64_t nth = 1; fires; ++nth) {
                SCOPED_TRACE(setting.text() + " to objects: put " + std::to_string(nth) +
                             (kind == storage::ObjectFault::Kind::lost ? ", whose answer is lost" : ""));
                const std::string name = "bucket" + std::to_string(++number);
                const storage::ObjectsPtr objects = storage::open_memory_objects(name).value();
                const auto num_fired = std::make_shared<std::atomic<std::int64_t>>(0);
                fires = hold(
                    setting, "s3://" + name + "/run",
                    [&] {
                        storage::set_bucket("//" + name,
                                            storage::with_object_fault(
                                                objects, {.kind = kind, .nth = nth, .num_fired = num_fired}));
                    },
                    [&] {
                        storage::set_bucket("//" + name, objects);
                        return num_fired->load() > 0;
                    },
                    counts["put"]);
                make_folders();
                if (has_any_rank_failed()) return;
            }
        }
    }
    void fail_all(const std::vector<Setting>& settings) {
        std::map<std::string, Counts> counts;
        for (const Setting& setting : settings) {
            fail_each_call(setting, counts);
            if (has_any_rank_failed()) return;
        }
        for (const Setting& setting : settings) {
            fail_each_put(setting, counts);
            if (has_any_rank_failed()) return;
        }
        if (!is_rank_0()) return;
        for (const char* kind : {"fsync", "close", "rename", "truncate", "mkdir", "put"})
            EXPECT_GT(counts[kind].num_errors, 0) << kind << " never fails";
        std::printf("%zu settings\n", settings.size());
        for (const auto& [kind, of] : counts)
            std::printf("%-9s %6d runs, %6d with an error on all ranks, the others lost nothing\n",
                        kind.c_str(), of.num_runs, of.num_errors);
    }

    std::string place;
};

TEST_F(SystemFaults, LoseNothingInEveryPairOfOptions) {
    fail_all(pairs_of(all_settings()));
}

TEST_F(SystemFaults, DISABLED_LoseNothingInAllOptions) {
    fail_all(all_settings());
}

}  // namespace
}  // namespace hakobi::test
