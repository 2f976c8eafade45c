#include "halo.hpp"

#include <algorithm>
#include <array>
#include <hakobi/buffer_array.hpp>
#include <hakobi/halo.hpp>

#include "base/clock.hpp"
#include "device_field.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/gpu_aware.hpp"
#include "pack_kernel.hpp"
#include "plain_mpi.hpp"

namespace hakobi::bench {
namespace {

using mpi::check;
constexpr std::int64_t halo_value_bytes = sizeof(double);

/// Dimension after dimension by single copies, or all directions as one prepared list: what this device does
/// faster, since a floor is the least.
class CopiesAlone final : public OnDevice {
  public:
    CopiesAlone(DeviceSite& site, const HaloCase& made) : OnDevice(site, made) {
        const int rank = site.comm.rank();
        for (const std::vector<Direction>& phase : phases_of(made, rank))
            for (const device::Copy& copy : copies_of(made, phase)) single_.push_back(copy);
        list_ = must(site.device.prepare(copies_of(made, directions_of(made, rank))));
        std::array<double, 2> best_s{1e9, 1e9};
        for (int round = 0; round < 6; ++round) {  // each once and then again, since the first time is slow
            is_list_ = round % 2 == 1;
            const double began_s = now_s();
            run();
            double& best = best_s[is_list_ ? 1 : 0];
            best = std::min(best, now_s() - began_s);
        }
        is_list_ = best_s[1] < best_s[0];
    }
    void run() override {
        if (is_list_) {
            must(site().queue->start(*list_));
        } else {
            for (const device::Copy& copy : single_) must(site().queue->start(copy));
        }
        must(site().queue->finish());
    }
    std::int64_t count_wrong(int) override { return 0; }  // ghosts hold this rank's own values

  private:
    [[nodiscard]] std::vector<device::Copy> copies_of(const HaloCase& made,
                                                      const std::vector<Direction>& directions) {
        std::vector<device::Copy> copies;
        for (const Direction& direction : directions)
            if (direction.from >= 0)
                copies.push_back(copy_of(values(), runs_of(made, direction.ghost), values(),
                                         runs_of(made, direction.own)));
        return copies;
    }

    std::vector<device::Copy> single_;
    std::unique_ptr<device::CopyList> list_;
    bool is_list_ = false;
};

class Ours final : public OnDevice {
  public:
    Ours(DeviceSite& site, const HaloCase& made, const std::string& path, bool has_stream)
        : OnDevice(site, made), has_stream_(has_stream) {
        const HaloGrid grid = made.grid();
        HaloField field = HaloField::dense(values(), grid, halo_value_bytes);
        field.memory = Memory::device;
        halo_ = std::make_unique<Halo>(
            Halo::plan(site.comm, grid, std::span(&field, 1), {.corners = made.corners, .path = path}));
    }
    void run() override {
        if (!has_stream_) return halo_->exchange();
        halo_->exchange(nullptr);
        must(site().driver->finish());  // the ghosts are there at the default stream's end
    }
    [[nodiscard]] std::string explain() const override { return halo_->explain(); }

  private:
    bool has_stream_;
    std::unique_ptr<Halo> halo_;
};

/// A list a direction and way, of the rows that go, or come.
class Arrays final : public OnDevice {
  public:
    Arrays(DeviceSite& site, const HaloCase& made)
        : OnDevice(site, made), arrays_(BufferArrays::get(site.comm)) {
        const std::vector<Direction> directions = directions_of(made, site.comm.rank());
        for (std::size_t i = 0; i < directions.size(); ++i) {
            const auto add = [&](bool is_sent, int rank, const Subarray& part) {
                if (rank < 0) return;
                List& list = lists_.emplace_back(List{is_sent, rank, static_cast<int>(i), arrays_.make()});
                append(list.array, runs_of(made, part));
            };
            add(false, directions[i].from, directions[i].ghost);
            add(true, directions[i].to, directions[i].own);
        }
    }
    void run() override {
        for (List& list : lists_) {
            if (list.is_sent) {
                list.array.send(list.rank, list.tag);
            } else {
                list.array.receive(list.rank, list.tag);
            }
        }
        for (List& list : lists_) list.array.wait();
    }

  private:
    void append(BufferArray& array, const Runs& part) {
        for (std::int64_t p = 0; p < part.num[0]; ++p) {
            for (std::int64_t r = 0; r < part.num[1]; ++r) {
                array.append(values() + part.offset + p * part.strides[0] + r * part.strides[1],
                             part.length * halo_value_bytes, Memory::device);
            }
        }
    }
    struct List {
        bool is_sent;
        int rank, tag;
        BufferArray array;
    };
    BufferArrays arrays_;
    std::vector<List> lists_;
};

/// Whether all ranks' drivers compile kernels. Collective.
bool has_kernels(DeviceSite& site) {
    int can = PackKernel::make(site, {PackRegion{}}).ok() ? 1 : 0;
    check(MPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, site.comm.state().internal),
          "MPI_Allreduce");
    return can == 1;
}

using Made = std::unique_ptr<DeviceEntrant>;
struct Entry {
    std::string_view name;
    Made (*make)(DeviceSite& site, const HaloCase& halo_case);
    bool needs_aware = false, needs_kernels = false;
};

template <MpiWay way, bool has_phases = false>
Made plain(DeviceSite& site, const HaloCase& made) {
    return make_plain_mpi(site, made, way, has_phases);
}

constexpr std::array entries{
    Entry{"mpi-pinned", plain<MpiWay::pinned>},
    Entry{"mpi-phases", plain<MpiWay::pinned, true>},
    Entry{"mpi-packed", plain<MpiWay::packed>},
    Entry{"mpi-aware", plain<MpiWay::aware>, true},
    Entry{"mpi-kernel", plain<MpiWay::kernel>, false, true},
    Entry{"mpi-kernel-aware", plain<MpiWay::kernel_aware>, true, true},
    Entry{"hakobi",
          [](DeviceSite& site, const HaloCase& made) -> Made {
              return std::make_unique<Ours>(site, made, "auto", false);
          }},
    Entry{"hakobi-ipc",
          [](DeviceSite& site, const HaloCase& made) -> Made {
              return std::make_unique<Ours>(site, made, "ipc", false);
          }},
    Entry{"hakobi-aware",
          [](DeviceSite& site, const HaloCase& made) -> Made {
              return std::make_unique<Ours>(site, made, "aware", false);
          },
          true},
    Entry{"hakobi-staged",
          [](DeviceSite& site, const HaloCase& made) -> Made {
              return std::make_unique<Ours>(site, made, "staged", false);
          }},
    Entry{"hakobi-packed",
          [](DeviceSite& site, const HaloCase& made) -> Made {
              return std::make_unique<Ours>(site, made, "packed", false);
          }},
    Entry{"hakobi-stream",
          [](DeviceSite& site, const HaloCase& made) -> Made {
              return std::make_unique<Ours>(site, made, "auto", true);
          }},
    Entry{
        "hakobi-arrays",
        [](DeviceSite& site, const HaloCase& made) -> Made { return std::make_unique<Arrays>(site, made); }},
};

constexpr auto names = [] {
    std::array<std::string_view, entries.size()> list;
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = entries[i].name;
    return list;
}();

}  // namespace

std::span<const std::string_view> device_halo_names() {
    return names;
}

DeviceCase halo_case_on_device(DeviceSite& site, const HaloCase& made, std::span<const std::string> wanted) {
    DeviceCase halo;
    halo.text = "halo, " + made.text();
    halo.facts["part"] = "halo";
    halo.facts["extent"] = made.extent;
    halo.facts["grid"] = made.ranks;
    halo.facts["ghost"] = made.ghost;
    std::int64_t bytes = 0;
    for (const Direction& direction : directions_of(made, site.comm.rank()))
        if (direction.from >= 0) bytes += direction.ghost.num_values() * halo_value_bytes;
    check(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, site.comm.state().internal),
          "MPI_Allreduce");
    const bool is_aware = mpi::takes_memory_of(site.device), can_compile = has_kernels(site);
    halo.entrants.push_back({"copies alone", Role::floor, bytes, std::make_unique<CopiesAlone>(site, made)});
    for (const std::string& name : wanted) {
        for (const Entry& entry : entries) {
            if (entry.name != name || (entry.needs_aware && !is_aware) ||
                (entry.needs_kernels && !can_compile))
                continue;
            const Role role = name.starts_with("hakobi") ? Role::ours : Role::rival;
            halo.entrants.push_back({name, role, bytes, entry.make(site, made)});
        }
    }
    return halo;
}

}  // namespace hakobi::bench
