// Communicators, topologies, collectives, halos and lists of buffers: the making of each, and an exchange.
#include <hakobi.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "operations.hpp"

namespace hakobi::test {
namespace {

/// Makes an object by `make`, uses it, and frees it.
template <class Handle>
Operation making(std::string name, std::function<int(World&, Handle**)> make,
                 std::function<std::string(World&, Handle*)> use, std::function<void(Handle*)> free) {
    const auto begin = [=](World& world) {
        const auto made = std::make_shared<Handle*>(nullptr);
        const auto run = [=, &world] { return make(world, made.get()); };
        const auto finish = [=, &world](int code, bool /*has_failed*/) {
            if ((*made != nullptr) != (code == HAKOBI_OK))
                return std::string("the handle does not say how it ended");
            std::string wrong;
            if (code != HAKOBI_OK) {  // a later call works
                const int again = make(world, made.get());
                if (!world.is_same(again)) wrong = "the call again has several codes; ";
                wrong += error_of("the call again", again);
            }
            if (*made != nullptr) wrong += use(world, *made);
            world.barrier();
            free(*made);
            return wrong;
        };
        return Trial{run, finish};
    };
    return {.name = std::move(name), .begin = begin};
}

void free_comm(hakobi_comm* comm) {
    (void)hakobi_comm_free(comm);
}

std::string wrong_order(const World& world, hakobi_comm* comm, int expected) {
    int sum = hakobi_comm_rank(comm);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, hakobi_comm_handle(comm));
    const bool is_right = hakobi_comm_rank(comm) == expected && hakobi_comm_size(comm) == world.size &&
                          sum == world.size * (world.size - 1) / 2;
    return is_right ? "" : "the communicator has other ranks";
}

std::vector<Operation> communicators() {
    return {
        making<hakobi_comm>(
            "comm_duplicate",
            [](World&, hakobi_comm** made) { return hakobi_comm_duplicate(MPI_COMM_WORLD, made); },
            [](World& world, hakobi_comm* made) { return wrong_order(world, made, world.rank); }, free_comm),
        making<hakobi_comm>(
            "comm_reordered",
            [](World& world, hakobi_comm** made) {
                std::vector<int> backwards(static_cast<std::size_t>(world.size));
                for (int place = 0; place < world.size; ++place)
                    backwards[static_cast<std::size_t>(place)] = world.size - 1 - place;
                return hakobi_comm_reordered(world.comm, world.size, backwards.data(), made);
            },
            [](World& world, hakobi_comm* made) {
                return wrong_order(world, made, world.size - 1 - world.rank);
            },
            free_comm)};
}

constexpr int declared_nodes[] = {0, 1, 0, 1, 0, 1, 0, 1};

std::string wrong_grid(World&, hakobi_topology* topology) {
    constexpr int grid[] = {2, 4};
    int rank_at[8] = {};
    auto traffic = HAKOBI_INIT(hakobi_traffic);
    const int code = hakobi_topology_reorder(topology, 2, grid, nullptr, nullptr, rank_at, &traffic);
    if (code != HAKOBI_OK) return error_of("reorder", code);
    return traffic.between_nodes_after == 4 ? "" : "the topology is another";
}

std::vector<Operation> topologies() {
    const std::function<int(World&, hakobi_topology**)> declare = [](World&, hakobi_topology** made) {
        return hakobi_topology_declare(8, declared_nodes, nullptr, made);
    };
    Operation declaring =
        making<hakobi_topology>("topology_declare", declare, wrong_grid, hakobi_topology_free);
    declaring.is_collective = false;
    declaring.is_local = true;
    const auto reorder = [declare](World& world) {
        const auto made =
            std::shared_ptr<hakobi_topology*>(new hakobi_topology*(nullptr), [](hakobi_topology** topology) {
                hakobi_topology_free(*topology);
                delete topology;
            });
        const std::string failed = error_of("declare", declare(world, made.get()));
        const auto run = [made] {
            constexpr int grid[] = {2, 4};
            int rank_at[8] = {};
            return hakobi_topology_reorder(*made, 2, grid, nullptr, nullptr, rank_at, nullptr);
        };
        return Trial{run, [made, failed, &world](int, bool) { return failed + wrong_grid(world, *made); }};
    };
    return {
        making<hakobi_topology>(
            "topology_discover",
            [](World& world, hakobi_topology** made) { return hakobi_topology_discover(world.comm, made); },
            [](World& world, hakobi_topology* made) {
                return hakobi_topology_num_ranks(made) == world.size && hakobi_topology_num_nodes(made) == 1
                           ? ""
                           : "the topology is another";
            },
            hakobi_topology_free),
        declaring,
        {.name = "topology_reorder", .begin = reorder, .is_collective = false, .is_local = true}};
}

/// Collectives, of which one plan is made.
struct Planned {
    hakobi_collectives* collectives = nullptr;
    hakobi_collective_plan* plan = nullptr;
    int made = HAKOBI_OK;
};

constexpr std::int64_t plan_doubles = 2048;

/// Each rank gives the doubles rank, rank + 1, …; `expected` says what it gets, by the number of the double.
Operation planning(const std::string& name,
                   const std::function<int(World&, hakobi_collectives*, hakobi_collective_plan**)>& plan,
                   std::int64_t num_in, std::int64_t num_out,
                   const std::function<double(const World&, std::int64_t)>& expected, bool executes) {
    const auto begin = [=](World& world) {
        const auto made = std::make_shared<Planned>();
        auto options = HAKOBI_INIT(hakobi_collectives_options);
        options.method = "model";
        std::string failed =
            error_of("create", hakobi_collectives_create(world.comm, &options, &made->collectives));
        if (executes) failed += error_of("plan", plan(world, made->collectives, &made->plan));
        const auto num = [&world](std::int64_t of) {
            return static_cast<std::size_t>(of < 0 ? world.size * plan_doubles : of);
        };
        const auto in = std::make_shared<std::vector<double>>(num(num_in));
        const auto out = std::make_shared<std::vector<double>>(num(num_out), -1);
        std::iota(in->begin(), in->end(), world.rank);
        if (in->empty() && world.rank == 0) std::iota(out->begin(), out->end(), 0);
        const auto execute = [=] {
            const double* const given = in->empty() ? nullptr : in->data();
            if (!executes) return hakobi_collective_plan_execute(made->plan, given, out->data());
            int is_complete = 0;
            int code = hakobi_collective_plan_start(made->plan, given, out->data());
            if (code == HAKOBI_OK) code = hakobi_collective_plan_test(made->plan, &is_complete);
            return code == HAKOBI_OK ? hakobi_collective_plan_wait(made->plan) : code;
        };
        const auto run = [=, &world] {
            return executes ? execute() : plan(world, made->collectives, &made->plan);
        };
        const auto finish = [=, &world](int code, bool) {
            std::string wrong = failed;
            if (!executes) {
                if ((made->plan != nullptr) != (code == HAKOBI_OK))
                    wrong += "*plan does not say how it ended; ";
                if (code != HAKOBI_OK)
                    wrong += error_of("planning again", plan(world, made->collectives, &made->plan));
            }
            if (made->plan != nullptr && (!executes || code != HAKOBI_OK))
                wrong += error_of("execute", execute());
            for (std::size_t i = 0; i < out->size(); ++i)
                if ((*out)[i] != expected(world, static_cast<std::int64_t>(i))) {
                    wrong += "a value is wrong; ";
                    break;
                }
            hakobi_collective_plan_free(made->plan);
            return wrong + error_of("free", hakobi_collectives_free(made->collectives));
        };
        return Trial{run, finish};
    };
    return {.name = name, .begin = begin};
}

std::vector<Operation> collectives() {
    using Made = hakobi_collective_plan**;
    constexpr std::int64_t num = plan_doubles, bytes = 8 * num;
    std::vector<Operation> operations = {making<hakobi_collectives>(
        "collectives_create",
        [](World& world, hakobi_collectives** made) {
            return hakobi_collectives_create(world.comm, nullptr, made);
        },
        [](World&, hakobi_collectives*) { return std::string(); },
        [](hakobi_collectives* made) { (void)hakobi_collectives_free(made); })};
    for (const bool executes : {false, true}) {
        const auto add = [&](const std::string& name, const auto& plan, std::int64_t in, std::int64_t out,
                             const auto& expected) {
            operations.push_back(
                planning((executes ? "execute_" : "plan_") + name, plan, in, out, expected, executes));
        };
        add(
            "allreduce",
            [](World&, hakobi_collectives* of, Made plan) {
                return hakobi_collectives_allreduce(of, HAKOBI_FLOAT64, HAKOBI_SUM, num, plan);
            },
            num, num,
            [](const World& world, std::int64_t i) {
                return static_cast<double>(world.size * i + world.size * (world.size - 1) / 2);
            });
        add(
            "alltoall",
            [](World&, hakobi_collectives* of, Made plan) {
                return hakobi_collectives_alltoall(of, bytes, plan);
            },
            -1, -1,
            [](const World& world, std::int64_t i) {
                return static_cast<double>(i / num + world.rank * num + i % num);
            });
        add(
            "allgather",
            [](World&, hakobi_collectives* of, Made plan) {
                return hakobi_collectives_allgather(of, bytes, plan);
            },
            num, -1, [](const World&, std::int64_t i) { return static_cast<double>(i / num + i % num); });
        add(
            "broadcast",
            [](World&, hakobi_collectives* of, Made plan) {
                return hakobi_collectives_broadcast(of, bytes, 0, plan);
            },
            0, num, [](const World&, std::int64_t i) { return static_cast<double>(i); });
    }
    return operations;
}

/// A ring of ranks, each with `own` doubles and a ghost on either side.
class Ring {
  public:
    Ring(World& world, std::string path) : world_(world), path_(std::move(path)) {
        if (path_ == "auto") {
            failed_ = error_of("allocate", hakobi_shared_allocate(world.comm, 8 * (own + 2), &shared_));
            values_ = static_cast<double*>(hakobi_shared_data(shared_));
        } else {
            plain_.resize(own + 2);
            values_ = plain_.data();
        }
    }
    ~Ring() {
        hakobi_halo_free(halo_);
        hakobi_shared_free(shared_);
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    int plan() {
        if (values_ == nullptr) return HAKOBI_OUT_OF_MEMORY;
        for (std::int64_t i = 0; i < own + 2; ++i) values_[i] = -1;
        for (std::int64_t i = 0; i < own; ++i) values_[i + 1] = static_cast<double>(world_.rank * own + i);
        auto grid = HAKOBI_INIT(hakobi_halo_grid);
        grid.num_dims = 1;
        grid.extents[0] = own;
        grid.ghosts_low[0] = grid.ghosts_high[0] = 1;
        grid.ranks[0] = world_.size;
        grid.is_periodic[0] = 1;
        auto field = HAKOBI_INIT(hakobi_halo_field);
        field.data = values_ + 1;
        field.element_bytes = field.strides_bytes[0] = field.component_stride_bytes = 8;
        auto options = HAKOBI_INIT(hakobi_halo_options);
        options.path = path_.c_str();
        options.timeout_s = 30;
        return hakobi_halo_plan(world_.comm, &grid, 1, &field, &options, &halo_);
    }
    int exchange() {
        const int code = hakobi_halo_start(halo_);
        return code != HAKOBI_OK ? code : hakobi_halo_wait(halo_);
    }
    [[nodiscard]] bool is_planned() const { return halo_ != nullptr; }
    [[nodiscard]] std::string wrong() const {
        const int before = (world_.rank + world_.size - 1) % world_.size,
                  after = (world_.rank + 1) % world_.size;
        if (values_[0] != static_cast<double>(before * own + own - 1) ||
            values_[own + 1] != static_cast<double>(after * own))
            return "a ghost is wrong; ";
        return "";
    }
    [[nodiscard]] const std::string& failed() const { return failed_; }

  private:
    static constexpr std::int64_t own = 3000;
    World& world_;
    std::string path_, failed_;
    std::vector<double> plain_;
    double* values_ = nullptr;
    hakobi_shared* shared_ = nullptr;
    hakobi_halo* halo_ = nullptr;
};

std::vector<Operation> halos() {
    std::vector<Operation> operations = {making<hakobi_shared>(
        "shared_allocate",
        [](World& world, hakobi_shared** made) { return hakobi_shared_allocate(world.comm, 50'000, made); },
        [](World& world, hakobi_shared* made) {
            auto* const bytes = static_cast<char*>(hakobi_shared_data(made));
            std::fill_n(bytes, 50'000, static_cast<char>(world.rank));
            world.barrier();
            return std::string(std::count(bytes, bytes + 50'000, static_cast<char>(world.rank)) == 50'000
                                   ? ""
                                   : "not its own");
        },
        hakobi_shared_free)};
    for (const char* const path : {"auto", "cma", "staged", "packed", "parts", "datatype"}) {
        const auto begin_plan = [path](World& world) {
            const auto ring = std::make_shared<Ring>(world, path);
            return Trial{[ring] { return ring->plan(); },
                         [ring](int code, bool) {
                             std::string wrong = ring->failed();
                             if (ring->is_planned() != (code == HAKOBI_OK))
                                 wrong += "*halo does not say how it ended; ";
                             if (code != HAKOBI_OK) wrong += error_of("planning again", ring->plan());
                             if (ring->is_planned()) wrong += error_of("exchange", ring->exchange());
                             return ring->is_planned() ? wrong + ring->wrong() : wrong;
                         }};
        };
        const auto begin_exchange = [path](World& world) {
            const auto ring = std::make_shared<Ring>(world, path);
            const std::string failed = ring->failed() + error_of("plan", ring->plan());
            return Trial{[ring] { return ring->exchange(); },
                         [ring, failed](int code, bool) {
                             std::string wrong = failed;
                             if (code != HAKOBI_OK) wrong += error_of("exchange again", ring->exchange());
                             return wrong + ring->wrong();
                         }};
        };
        operations.push_back({.name = std::string("halo_plan_") + path, .begin = begin_plan});
        operations.push_back({.name = std::string("halo_exchange_") + path,
                              .begin = begin_exchange,
                              .needed_by_others = {SystemCall::copy}});
    }
    return operations;
}

/// Lists that go along a ring of ranks.
class Lists {
  public:
    Lists(World& world, const char* path) : world_(world) {
        auto options = HAKOBI_INIT(hakobi_buffer_arrays_options);
        options.path = path;
        failed_ = error_of("get", hakobi_buffer_arrays_get(world.comm, &options, &arrays_));
        sent_.resize(num);
        received_.assign(num, -1);
        std::iota(sent_.begin(), sent_.end(), world.rank);
    }
    ~Lists() {
        hakobi_buffer_array_free(out_);
        hakobi_buffer_array_free(in_);
        hakobi_buffer_arrays_free(arrays_);
    }
    Lists(const Lists&) = delete;
    Lists& operator=(const Lists&) = delete;

    int make() {
        for (hakobi_buffer_array** list : {&out_, &in_})
            if (*list == nullptr)
                if (const int code = hakobi_buffer_array_make(arrays_, list); code != HAKOBI_OK) return code;
        return HAKOBI_OK;
    }
    int append() {
        for (hakobi_buffer_array* list : {out_, in_}) {
            if (const int code = hakobi_buffer_array_release(list); code != HAKOBI_OK) return code;
            double* const data = list == out_ ? sent_.data() : received_.data();
            for (std::int64_t i = 0; i < num; i += num / 4)
                if (const int code = hakobi_buffer_array_append(list, data + i, 8 * num / 4);
                    code != HAKOBI_OK)
                    return code;
        }
        return HAKOBI_OK;
    }
    int exchange() {
        const int next = (world_.rank + 1) % world_.size,
                  before = (world_.rank + world_.size - 1) % world_.size;
        int code = hakobi_buffer_array_send(out_, next, 3), is_done = 0;
        for (const auto& step :
             {std::function<int()>([&] { return hakobi_buffer_array_receive(in_, before, 3); }),
              std::function<int()>([&] { return hakobi_buffer_array_done(in_, &is_done); }),
              std::function<int()>([&] { return hakobi_buffer_array_wait(in_); }),
              std::function<int()>([&] { return hakobi_buffer_array_wait(out_); })}) {
            const int ended = step();
            if (code == HAKOBI_OK) code = ended;
        }
        return code;
    }
    [[nodiscard]] std::string wrong() const {
        const int before = (world_.rank + world_.size - 1) % world_.size;
        for (std::int64_t i = 0; i < num; ++i)
            if (received_[static_cast<std::size_t>(i)] != static_cast<double>(before + i))
                return "a value is wrong";
        return "";
    }
    [[nodiscard]] const std::string& failed() const { return failed_; }

  private:
    static constexpr std::int64_t num = 4000;
    World& world_;
    std::string failed_;
    std::vector<double> sent_, received_;
    hakobi_buffer_arrays* arrays_ = nullptr;
    hakobi_buffer_array *out_ = nullptr, *in_ = nullptr;
};

using ListStep = int (Lists::*)();
constexpr ListStep list_steps[] = {&Lists::make, &Lists::append, &Lists::exchange};
constexpr const char* list_step_names[] = {"make_", "append_", "exchange_"};

std::vector<Operation> lists() {
    std::vector<Operation> operations = {making<hakobi_buffer_arrays>(
        "buffer_arrays_get",
        [](World& world, hakobi_buffer_arrays** made) {
            return hakobi_buffer_arrays_get(world.comm, nullptr, made);
        },
        [](World& world, hakobi_buffer_arrays* made) {
            return std::string(hakobi_buffer_arrays_path_to(made, world.rank) != nullptr ? "" : "no path");
        },
        hakobi_buffer_arrays_free)};
    for (const char* const path : {"cma", "packed"}) {
        for (std::size_t tried = 0; tried < std::size(list_steps); ++tried) {
            const auto begin = [path, tried](World& world) {
                const auto made = std::make_shared<Lists>(world, path);
                std::string failed = made->failed();
                for (std::size_t i = 0; i < tried; ++i)
                    failed += error_of("before", (*made.*list_steps[i])());
                const ListStep step = list_steps[tried];
                return Trial{[made, step] { return (*made.*step)(); },
                             [=](int code, bool) {
                                 std::string wrong = failed;
                                 if (code != HAKOBI_OK) wrong += error_of("again", (*made.*step)());
                                 for (std::size_t i = tried + 1; i < std::size(list_steps); ++i)
                                     wrong += error_of("after", (*made.*list_steps[i])());
                                 return wrong + made->wrong();
                             }};
            };
            operations.push_back({.name = std::string("buffer_array_") + list_step_names[tried] + path,
                                  .begin = begin,
                                  .is_collective = false,
                                  .is_local = tried < 2,
                                  .needed_by_others = {SystemCall::buffer}});
        }
    }
    return operations;
}

}  // namespace

std::vector<Operation> exchange_operations() {
    std::vector<Operation> operations;
    for (std::vector<Operation>& more :
         std::vector{communicators(), topologies(), collectives(), halos(), lists()})
        operations.insert(operations.end(), more.begin(), more.end());
    return operations;
}

}  // namespace hakobi::test
