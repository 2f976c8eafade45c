// A plan is made in these steps, each collective one marked:
//  1. (*) Arguments are checked by themselves, and the ranks agree.
//  2. (*) Every rank's grid is gathered and compared with rank 0's; all ranks come to the same verdict by
//     themselves.
//  3. (*) Ranks of a node leave each other notes: where their fields lie, and, in a second round, whose
//     memory they reach.
//  4. From the notes every rank of the node knows the path of every pair of its ranks.
//  5. (*) Memory for what is staged; messages.
#include "exchange/halo_plan.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <map>
#include <utility>

#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "exchange/field_layout.hpp"
#include "exchange/halo_notes.hpp"
#include "exchange/halo_paths.hpp"
#include "exchange/halo_record.hpp"
#include "exchange/remote_copy.hpp"
#include "exchange/shared_array.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/gpu_aware.hpp"
#include "mpi/messages.hpp"
#include "mpi/nonblocking.hpp"

namespace hakobi::exchange {
namespace {

/// MPI libraries send messages of this size at once: Open MPI over TCP up to 64 KiB.
constexpr std::size_t part_bytes = std::size_t{32} << 10;

class Planner {
  public:
    Planner(HaloPlan& plan, const HaloGrid& grid, PathRules rules)
        : plan_(plan), comm_(plan.comm), rules_(std::move(rules)), num_dims_(plan.geometry.num_dims()) {
        for (const HaloField& field : plan.fields) {
            layouts_.push_back(layout_of(field));
            find_shared(layouts_.back(), grid);
        }
    }

    void make() {
        choose_orders();
        received_ = plan_.geometry.received_by(comm_.rank());
        sent_ = plan_.geometry.sent_by(comm_.rank());
        mpi::agree_or_throw(comm_, rules_.meets_on_node() ? leave_notes() : Status());
        for (const Transfer& transfer : received_) peer(transfer.peer);
        for (const Transfer& transfer : sent_) peer(transfer.peer);
        mpi::agree_or_throw(comm_, guarded("Halo::plan", [&] { return describe(); }));
        mpi::agree_or_throw(comm_, make_staging());
        auto context = mpi::MessageContext::of(comm_, mpi::MessageContext::Kind::halos);
        const int tag = context.next_tag();
        plan_.messages = std::make_unique<mpi::PersistentMessages>(std::move(context), tag);
        mpi::agree_or_throw(comm_, guarded("Halo::plan", [&] {
                                for (auto& [rank, made] : peers_) add_messages(made);
                                if (plan_.device)
                                    for (auto& [rank, made] : peers_) prepare(*plan_.device, made);
                            }));
        for (auto& [rank, made] : peers_) plan_.peers.push_back(std::move(made));
        for (const FieldLayout& layout : layouts_)
            if (layout.shared_id != 0) plan_.shared_ids.push_back(layout.shared_id);
    }

  private:
    /// Collective: rank 0's.
    void choose_orders() {
        std::vector<std::byte> bytes(layouts_.size() * sizeof(Order));
        for (std::size_t f = 0; f < layouts_.size(); ++f) {
            const Order order = order_of(layouts_[f], num_dims_);
            std::memcpy(bytes.data() + f * sizeof(Order), &order, sizeof(Order));
        }
        mpi::broadcast(comm_, bytes, 0);
        orders_.resize(layouts_.size());
        std::memcpy(orders_.data(), bytes.data(), bytes.size());
    }

    /// Collective over the node.
    Status leave_notes() {
        const auto note_bytes = Notes::bytes(comm_.node_size(), layouts_.size());
        if (Status status = NodeChannel::create(comm_, note_bytes, plan_.channel); !status.ok())
            return status;
        notes_ = std::make_unique<Notes>(comm_, plan_.channel, layouts_.size());
        rules_.set_notes(*notes_);
        const int me = comm_.node_rank();
        own_probe_ = Probe::own();
        notes_->probe(me) = own_probe_.told();
        std::copy(layouts_.begin(), layouts_.end(), notes_->layouts(me).begin());
        notes_->on_device(me) = share();
        node::NodeWindow::barrier(comm_);
        for (int other = 0; other < comm_.node_size(); ++other) {
            const auto theirs = notes_->layouts(other);
            const bool is_mapped = std::all_of(theirs.begin(), theirs.end(), [](const FieldLayout& layout) {
                return layout.shared_id != 0 &&
                       address_of({layout.shared_id, layout.shared_offset}) != nullptr;
            });
            notes_->maps(me, other) = std::byte(is_mapped);
            notes_->reads(me, other) = std::byte(can_read(notes_->probe(other)));
            notes_->opens(me, other) = std::byte(open(other));
        }
        node::NodeWindow::barrier(comm_);
        return {};
    }

    /// Whether other ranks of the node may look at this one's memory by the driver.
    [[nodiscard]] bool may_open() const { return plan_.device && rules_.may_open(); }
    /// Leaves handles of this rank's fields in its note.
    [[nodiscard]] OnDevice share() const {
        OnDevice shared{.is_shared = may_open()};
        if (!shared.is_shared) return shared;
        shared.uuid = plan_.device->device().uuid();
        for (std::size_t f = 0; f < layouts_.size(); ++f) {
            const auto handle = plan_.device->device().share(static_cast<std::byte*>(plan_.fields[f].data));
            shared.is_shared = shared.is_shared && handle.ok();
            if (handle.ok()) notes_->handles(comm_.node_rank())[f] = handle.value();
        }
        return shared;
    }
    /// Opens the fields of a rank of the node that this one receives from; whether the driver lets it.
    bool open(int node_rank) {
        const int rank = comm_.state().nodes.own_ranks()[static_cast<std::size_t>(node_rank)];
        const OnDevice& theirs = notes_->on_device(node_rank);
        const bool is_sender = std::any_of(received_.begin(), received_.end(),
                                           [&](const Transfer& transfer) { return transfer.peer == rank; });
        if (!may_open() || !theirs.is_shared || !is_sender || rank == comm_.rank()) return false;
        if (!plan_.device->sees(theirs.uuid)) return false;
        std::vector<std::int64_t>& addresses = opened_[node_rank];
        for (const device::SharedHandle& handle : notes_->handles(node_rank))
            addresses.push_back(reinterpret_cast<std::int64_t>(plan_.device->open(handle)));
        return std::find(addresses.begin(), addresses.end(), 0) == addresses.end();
    }

    HaloPeer& peer(int rank) {
        const auto [at, is_new] = peers_.try_emplace(rank);
        if (is_new) {
            at->second.rank = rank;
            at->second.node_rank = rules_.node_rank_of(rank);
            at->second.in = rules_.between(rank, comm_.rank());
            at->second.out = rules_.between(comm_.rank(), rank);
        }
        return at->second;
    }

    [[nodiscard]] std::byte* own_data() const { return static_cast<std::byte*>(plan_.fields[0].data); }
    /// Offset of a field's first own element from the first field's: all copies of a rank start at that one.
    [[nodiscard]] static std::int64_t from_first(const FieldLayout& layout, std::int64_t first) {
        return layout.address - first;
    }

    /// The node rank's layouts, with addresses as this process sees them where it has them mapped.
    [[nodiscard]] std::vector<FieldLayout> layouts_here(int node_rank, bool is_mapped) const {
        const auto theirs = notes_->layouts(node_rank);
        std::vector<FieldLayout> layouts(theirs.begin(), theirs.end());
        for (FieldLayout& layout : layouts) {
            if (!is_mapped) continue;
            layout.address =
                reinterpret_cast<std::int64_t>(address_of({layout.shared_id, layout.shared_offset}));
        }
        return layouts;
    }
    /// The same as this rank's device sees them.
    [[nodiscard]] std::vector<FieldLayout> opened_layouts(int node_rank) const {
        const auto theirs = notes_->layouts(node_rank);
        std::vector<FieldLayout> layouts(theirs.begin(), theirs.end());
        const std::vector<std::int64_t>& addresses = opened_.at(node_rank);
        for (std::size_t f = 0; f < layouts.size(); ++f) layouts[f].address = addresses[f];
        return layouts;
    }

    /// All copies of `transfers` with `peer`, from fields laid out as `from` to those laid out as `to`.
    [[nodiscard]] std::vector<StridedCopy> copies_of(std::span<const Transfer> transfers, int peer,
                                                     std::span<const FieldLayout> from,
                                                     std::span<const FieldLayout> to) const {
        std::vector<StridedCopy> copies;
        for (std::size_t f = 0; f < from.size(); ++f) {
            for (const Transfer& transfer : transfers) {
                if (transfer.peer != peer) continue;
                StridedCopy copy = copy_between(from[f], transfer.own, to[f], transfer.ghost, num_dims_);
                copy.from_offset += from_first(from[f], from[0].address);
                copy.to_offset += from_first(to[f], to[0].address);
                copies.push_back(simplified(std::move(copy)));
            }
        }
        return fused(copies);
    }

    /// Packing of what goes to (`is_send`) or unpacking of what comes from a peer.
    [[nodiscard]] std::vector<Work> packing(std::span<const Transfer> transfers, int peer, bool is_send,
                                            std::byte* packed) const {
        std::vector<Work> works;
        std::int64_t at = 0;
        for (std::size_t f = 0; f < layouts_.size(); ++f) {
            auto* const data = static_cast<std::byte*>(plan_.fields[f].data);
            for (const Transfer& transfer : transfers) {
                if (transfer.peer != peer) continue;
                if (is_send) {
                    works.push_back(
                        {copy_to_packed(layouts_[f], transfer.own, num_dims_, orders_[f], at), data, packed});
                } else {
                    works.push_back({copy_from_packed(layouts_[f], transfer.ghost, num_dims_, orders_[f], at),
                                     packed, data});
                }
                at += bytes_of(layouts_[f], transfer.own, num_dims_);
            }
        }
        return works;
    }

    [[nodiscard]] std::int64_t bytes_with(std::span<const Transfer> transfers, int peer) const {
        std::int64_t bytes = 0;
        for (const Transfer& transfer : transfers) {
            if (transfer.peer != peer) continue;
            for (const FieldLayout& layout : layouts_) bytes += bytes_of(layout, transfer.own, num_dims_);
        }
        return bytes;
    }

    /// Copies that need no memory of their own.
    Status describe() {
        for (auto& [rank, made] : peers_) {
            made.bytes_in = bytes_with(received_, rank);
            made.bytes_out = bytes_with(sent_, rank);
            if (std::max(made.bytes_in, made.bytes_out) > INT_MAX)
                return {ErrorCode::unsupported, "Halo::plan: more than 2 GiB between two ranks"};
            const auto add = [&, &to = made](const std::vector<StridedCopy>& copies, const std::byte* from,
                                             std::byte* target) {
                for (const StridedCopy& copy : copies) to.copies.push_back({copy, from, target});
            };
            if (made.in == Path::self) {
                add(copies_of(received_, rank, layouts_, layouts_), own_data(), own_data());
            } else if (made.in == Path::direct && made.bytes_in > 0) {
                const auto theirs = layouts_here(made.node_rank, true);
                add(copies_of(received_, rank, theirs, layouts_),
                    reinterpret_cast<const std::byte*>(theirs[0].address), own_data());
            } else if (made.in == Path::cma && made.bytes_in > 0) {
                const auto theirs = layouts_here(made.node_rank, false);
                made.remote = std::make_shared<HaloPeer::Remote>(
                    notes_->probe(made.node_rank).process, theirs[0].address, own_data(),
                    copies_of(received_, rank, theirs, layouts_));
            }
            if (made.in == Path::ipc && made.bytes_in > 0) {
                const auto theirs = opened_layouts(made.node_rank);
                add(copies_of(received_, rank, theirs, layouts_),
                    reinterpret_cast<const std::byte*>(theirs[0].address), own_data());
            }
            if (made.out == Path::deposit && made.bytes_out > 0) {
                const auto theirs = layouts_here(made.node_rank, true);
                add(copies_of(sent_, rank, layouts_, theirs), own_data(),
                    reinterpret_cast<std::byte*>(theirs[0].address));
            }
            const auto is_pulled = [](Path path) {
                return path == Path::direct || path == Path::cma || path == Path::ipc || path == Path::staged;
            };
            made.waits_for_peer = (is_pulled(made.out) && made.bytes_out > 0) ||
                                  (made.in == Path::deposit && made.bytes_in > 0);
            plan_.has_channel = plan_.has_channel || made.waits_for_peer ||
                                (made.in != Path::self && (is_pulled(made.in) || made.out == Path::deposit));
            for (const Work& work : made.copies) made.pieces_in += work.copy.num_pieces();
        }
        return {};
    }

    /// Where in the node's staging memory the bytes from one of its ranks to another begin, for all pairs
    /// before this one; asked for {-1, -1}: how many there are.
    [[nodiscard]] std::int64_t staged_before(int sender, int receiver) const {
        constexpr std::int64_t align = 256;
        std::int64_t at = 0;
        for (const int from : comm_.state().nodes.own_ranks()) {
            std::map<int, std::int64_t> bytes;
            const auto transfers = plan_.geometry.sent_by(from);
            for (const Transfer& transfer : transfers) {
                if (rules_.between(from, transfer.peer) == Path::staged) bytes[transfer.peer] = 0;
            }
            for (auto& [to, num] : bytes) {
                if (from == sender && to == receiver) return at;
                at += (bytes_with(transfers, to) + align - 1) / align * align;
            }
        }
        return at;
    }

    /// Collective over the node.
    Status make_staging() {
        if (!notes_) return {};
        const std::int64_t bytes = staged_before(-1, -1);
        if (bytes == 0) return {};
        if (Status status = node::NodeWindow::allocate(comm_, bytes, plan_.staging); !status.ok())
            return status;
        return guarded("Halo::plan", [&] {
            if (plan_.device) plan_.device->lock(plan_.staging.data(), bytes);
            for (auto& [rank, made] : peers_) {
                if (made.out == Path::staged)
                    made.stage =
                        packing(sent_, rank, true, plan_.staging.data() + staged_before(comm_.rank(), rank));
                if (made.in == Path::staged && made.bytes_in > 0)
                    made.copies = packing(received_, rank, false,
                                          plan_.staging.data() + staged_before(rank, comm_.rank()));
            }
        });
    }

    [[nodiscard]] std::vector<mpi::Pieces> all_pieces(std::span<const Transfer> transfers, int peer,
                                                      bool is_send) const {
        std::vector<mpi::Pieces> all;
        for (std::size_t f = 0; f < layouts_.size(); ++f) {
            for (const Transfer& transfer : transfers) {
                if (transfer.peer != peer) continue;
                all.push_back(pieces_of(layouts_[f], static_cast<std::byte*>(plan_.fields[f].data),
                                        is_send ? transfer.own : transfer.ghost, num_dims_, orders_[f]));
            }
        }
        return all;
    }

    /// The parts of a buffer that are messages of their own.
    template <class Byte>
    [[nodiscard]] static std::vector<std::span<Byte>> parts_of(std::span<Byte> bytes, Path path) {
        std::vector<std::span<Byte>> parts;
        while (path == Path::parts && bytes.size() > part_bytes) {
            parts.push_back(bytes.first(part_bytes));
            bytes = bytes.subspan(part_bytes);
        }
        parts.push_back(bytes);
        return parts;
    }

    static void add(HaloPeer::Messages& messages, int number) {
        if (messages.num++ == 0) messages.first = number;
    }

    /// Memory for a message: where the MPI library takes it, on the device; else page-locked, or any.
    [[nodiscard]] std::byte* room(std::vector<std::byte>& on_host, std::int64_t bytes, Path path) const {
        if (plan_.device)
            return path == Path::aware ? plan_.device->device_memory(bytes)
                                       : plan_.device->locked_memory(bytes);
        on_host.resize(static_cast<std::size_t>(bytes));
        return on_host.data();
    }

    void add_messages(HaloPeer& made) {
        const auto is_packed = [](Path path) {
            return path == Path::packed || path == Path::parts || path == Path::aware;
        };
        if (is_packed(made.in) && made.bytes_in > 0) {
            std::byte* const buffer = room(made.receive_buffer, made.bytes_in, made.in);
            made.unpack = packing(received_, made.rank, false, buffer);
            for (const auto& part :
                 parts_of(std::span(buffer, static_cast<std::size_t>(made.bytes_in)), made.in))
                add(made.receives, plan_.messages->add_receive(part, made.rank));
        } else if (made.in == Path::datatype && made.bytes_in > 0) {
            add(made.receives,
                plan_.messages->add_receive(all_pieces(received_, made.rank, false), made.rank));
        }
        if (is_packed(made.out) && made.bytes_out > 0) {
            std::byte* const buffer = room(made.send_buffer, made.bytes_out, made.out);
            made.pack = packing(sent_, made.rank, true, buffer);
            for (const auto& part : parts_of(
                     std::span<const std::byte>(buffer, static_cast<std::size_t>(made.bytes_out)), made.out))
                add(made.sends, plan_.messages->add_send(part, made.rank));
        } else if (made.out == Path::datatype && made.bytes_out > 0) {
            add(made.sends, plan_.messages->add_send(all_pieces(sent_, made.rank, true), made.rank));
        }
    }

    static void prepare(HaloDevice& device, HaloPeer& made) {
        made.prepared = {.stage = device.prepare(made.stage),
                         .copies = device.prepare(made.copies),
                         .pack = device.prepare(made.pack),
                         .unpack = device.prepare(made.unpack)};
    }

    HaloPlan& plan_;
    const Comm& comm_;
    PathRules rules_;
    std::size_t num_dims_;
    std::vector<FieldLayout> layouts_;
    std::vector<Order> orders_;
    std::unique_ptr<Notes> notes_;
    Probe own_probe_;
    std::vector<Transfer> received_, sent_;
    std::map<int, HaloPeer> peers_;
    std::map<int, std::vector<std::int64_t>> opened_;  // by node rank: its fields, as this device sees them
};

}  // namespace

bool HaloPlan::has_choice() const {
    return is_auto && std::any_of(peers.begin(), peers.end(), [](const HaloPeer& peer) {
               return peer.in != Path::self && peer.in != Path::direct && peer.in != Path::ipc &&
                      peer.bytes_in > 0;
           });
}

std::vector<Path> HaloPlan::paths() const {
    std::vector<Path> paths;
    for (const HaloPeer& peer : peers) {
        paths.push_back(peer.in);
        paths.push_back(peer.out);
    }
    return paths;
}

std::unique_ptr<HaloPlan> HaloPlan::make(const Comm& comm, const HaloGrid& grid,
                                         std::span<const HaloField> fields, const HaloOptions& options,
                                         const HaloChoice& choice) {
    const auto wishes = Wishes::of(options);
    auto plan = std::make_unique<HaloPlan>();
    Status local = check_arguments(grid, fields, comm.size());
    if (!wishes.ok()) local.keep_first(wishes.status());
    if (local.ok())
        local = guarded("Halo::plan", [&] {
            const auto device = device_of_fields(grid, fields);
            if (!device.ok()) return device.status();
            if (device.value() != nullptr) plan->device = std::make_unique<HaloDevice>(*device.value());
            return Status();
        });
    mpi::agree_or_throw(comm, local);
    const Place place = !plan->device                                  ? Place::host
                        : mpi::takes_memory_of(plan->device->device()) ? Place::aware_device
                                                                       : Place::device;
    const GridRecord record = GridRecord::of(grid, fields, options.corners, wishes.value(), place);
    const std::vector<std::int64_t> all = mpi::all_gather(comm, record.words);
    check_equal(all, comm.size()).throw_if_error();

    plan->comm = comm;
    plan->fields.assign(fields.begin(), fields.end());
    plan->timeout_s = wishes.value().timeout_s;
    plan->geometry = {.ghosts = grid.ghosts,
                      .ranks = grid.ranks,
                      .is_periodic = grid.is_periodic,
                      .corners = options.corners};
    plan->geometry.is_periodic.resize(grid.extents.size());
    std::vector<Place> places;
    for (std::size_t r = 0; r < static_cast<std::size_t>(comm.size()); ++r) {
        places.push_back(static_cast<Place>(all[r * GridRecord::num_words + GridRecord::place]));
        const auto first =
            all.begin() + static_cast<std::ptrdiff_t>(r * GridRecord::num_words + GridRecord::num_equal);
        plan->geometry.extents.emplace_back(first, first + static_cast<std::ptrdiff_t>(grid.extents.size()));
    }
    plan->geometry.check().throw_if_error();
    plan->is_auto = wishes.value().path == any_path;
    Planner(*plan, grid, PathRules(comm, wishes.value(), choice, std::move(places))).make();
    return plan;
}

}  // namespace hakobi::exchange
