// A plan is made in these steps, each collective one marked:
//  1. (*) Arguments are checked by themselves, and the ranks agree.
//  2. (*) Every rank's grid is gathered and compared with rank 0's; all ranks come to the same verdict by themselves.
//  3. (*) Ranks of a node leave each other notes: where their fields lie, and, in a second round, whose memory they reach.
//  4. From the notes every rank of the node knows the path of every pair of its ranks.
//  5. (*) Memory for what is staged; messages.
#include "exchange/halo_plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "base/nearest.hpp"
#include "exchange/field_layout.hpp"
#include "exchange/remote_copy.hpp"
#include "exchange/shared_array.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"
#include "mpi/nonblocking.hpp"

namespace hakobi::exchange {
namespace {

constexpr std::string_view names[] = {"direct", "deposit", "cma", "staged", "packed", "parts", "datatype"};
constexpr int any_path = -1;
/// MPI libraries send messages of this size at once: Open MPI over TCP up to 64 KiB.
constexpr std::size_t part_bytes = std::size_t{32} << 10;
constexpr double most_timeout_s = 1e9;

Status invalid(const std::string& text) {
    return {ErrorCode::invalid_argument, "Halo::plan: " + text};
}

/// The options with what the environment says in the place of defaults.
struct Wishes {
    int path = any_path;
    double timeout_s = 0;

    static Result<Wishes> of(const HaloOptions& options) {
        std::string path = options.path;
        const char* const named = std::getenv("HAKOBI_HALO_PATH");
        if (path == "auto" && named != nullptr && *named != '\0') path = named;
        Wishes wishes{.timeout_s = options.timeout_s};
        const char* const timeout = std::getenv("HAKOBI_HALO_TIMEOUT_S");
        if (wishes.timeout_s == 0 && timeout != nullptr) wishes.timeout_s = std::atof(timeout);
        if (!(wishes.timeout_s >= 0 && wishes.timeout_s <= most_timeout_s))
            return invalid("timeout_s is not between 0 and 10^9");
        if (path == "auto") return wishes;
        const auto at = std::find(std::begin(names), std::end(names), path);
        if (at == std::end(names)) {
            const std::string near = nearest_name(path, names);
            return invalid("no path '" + path + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
        }
        wishes.path = static_cast<int>(at - std::begin(names));
        return wishes;
    }
};

/// What ranks compare: entries that must be equal first, then the extents.
struct GridRecord {
    static constexpr std::size_t num_equal = 5 + 2 * most_halo_dims + 2 * most_halo_dims + 1;
    static constexpr std::size_t num_words = num_equal + most_halo_dims;
    std::vector<std::int64_t> words;

    static const char* name_of(std::size_t word) {
        static constexpr const char* heads[] = {"the number of dimensions", "corners", "path", "timeout_s",
                                                "the number of fields"};
        if (word < 5) return heads[word];
        word -= 5;
        if (word < 2 * most_halo_dims) return "ghosts";
        word -= 2 * most_halo_dims;
        if (word < most_halo_dims) return "ranks";
        return word < 2 * most_halo_dims ? "is_periodic" : "the fields' element sizes or components";
    }
};

GridRecord record_of(const HaloGrid& grid, std::span<const HaloField> fields, bool corners,
                     const Wishes& wishes) {
    const auto num_dims = grid.extents.size();
    GridRecord record;
    auto& words = record.words;
    words = {static_cast<std::int64_t>(num_dims), corners, wishes.path,
             static_cast<std::int64_t>(wishes.timeout_s * 1e6), static_cast<std::int64_t>(fields.size())};
    for (std::size_t d = 0; d < most_halo_dims; ++d) {
        words.push_back(d < num_dims ? grid.ghosts[d].low : 0);
        words.push_back(d < num_dims ? grid.ghosts[d].high : 0);
    }
    for (std::size_t d = 0; d < most_halo_dims; ++d) words.push_back(d < num_dims ? grid.ranks[d] : 0);
    for (std::size_t d = 0; d < most_halo_dims; ++d)
        words.push_back(d < num_dims && !grid.is_periodic.empty() && grid.is_periodic[d]);
    std::uint64_t sizes = 0;  // of all fields, mixed (FNV)
    for (const HaloField& field : fields) {
        for (const std::int64_t value : {field.element_bytes, field.num_components})
            sizes = (sizes ^ static_cast<std::uint64_t>(value)) * 0x100000001b3ULL;
    }
    words.push_back(static_cast<std::int64_t>(sizes));
    for (std::size_t d = 0; d < most_halo_dims; ++d) words.push_back(d < num_dims ? grid.extents[d] : 0);
    return record;
}

/// Compares all ranks' records; the same answer everywhere.
Status check_equal(std::span<const std::int64_t> all, int num_ranks) {
    for (std::size_t r = 1; r < static_cast<std::size_t>(num_ranks); ++r) {
        for (std::size_t w = 0; w < GridRecord::num_equal; ++w) {
            const std::int64_t theirs = all[r * GridRecord::num_words + w];
            if (theirs == all[w]) continue;
            return invalid(std::string(GridRecord::name_of(w)) + " of rank " + std::to_string(r) +
                           (w + 1 < GridRecord::num_equal
                                ? " (" + std::to_string(theirs) + ") differ from rank 0's (" +
                                      std::to_string(all[w]) + ")"
                                : " differ from rank 0's"));
        }
    }
    return {};
}

/// What the ranks of a node tell each other, in NodeChannel's notes.
class Notes {
  public:
    Notes(const Comm& comm, const NodeChannel& channel, std::size_t num_fields)
        : node_size_(static_cast<std::size_t>(comm.node_size())),
          num_fields_(num_fields),
          channel_(channel) {}
    static std::int64_t bytes(int node_size, std::size_t num_fields) {
        return static_cast<std::int64_t>(sizeof(Probe) + num_fields * sizeof(FieldLayout)) + 2 * node_size;
    }

    [[nodiscard]] Probe& probe(int node_rank) const {
        return *reinterpret_cast<Probe*>(channel_.note(node_rank));
    }
    [[nodiscard]] std::span<FieldLayout> layouts(int node_rank) const {
        return {reinterpret_cast<FieldLayout*>(channel_.note(node_rank) + sizeof(Probe)), num_fields_};
    }
    /// Whether `by` reaches the memory of `of`: through a mapping, through the kernel.
    [[nodiscard]] std::byte& maps(int by, int of) const { return flags(by)[of]; }
    [[nodiscard]] std::byte& reads(int by, int of) const {
        return flags(by)[static_cast<int>(node_size_) + of];
    }

  private:
    [[nodiscard]] std::byte* flags(int node_rank) const {
        return channel_.note(node_rank) + sizeof(Probe) + num_fields_ * sizeof(FieldLayout);
    }
    std::size_t node_size_, num_fields_;
    const NodeChannel& channel_;
};

class Planner {
  public:
    Planner(HaloPlan& plan, const HaloGrid& grid, const Wishes& wishes, const HaloChoice& choice)
        : plan_(plan),
          comm_(plan.comm),
          wishes_(wishes),
          choice_(choice),
          num_dims_(plan.geometry.num_dims()) {
        for (const HaloField& field : plan.fields) {
            layouts_.push_back(layout_of(field));
            find_shared(layouts_.back(), grid);
        }
    }

    void make() {
        choose_orders();
        mpi::agree_or_throw(comm_, meets_on_node() ? leave_notes() : Status());
        received_ = plan_.geometry.received_by(comm_.rank());
        sent_ = plan_.geometry.sent_by(comm_.rank());
        for (const Transfer& transfer : received_) peer(transfer.peer);
        for (const Transfer& transfer : sent_) peer(transfer.peer);
        mpi::agree_or_throw(comm_, guarded("Halo::plan", [&] { return describe(); }));
        mpi::agree_or_throw(comm_, make_staging());
        auto context = mpi::MessageContext::of(comm_, mpi::MessageContext::Kind::halos);
        const int tag = context.next_tag();
        plan_.messages = std::make_unique<mpi::PersistentMessages>(std::move(context), tag);
        mpi::agree_or_throw(comm_, guarded("Halo::plan", [&] {
                                for (auto& [rank, made] : peers_) add_messages(made);
                            }));
        for (auto& [rank, made] : peers_) plan_.peers.push_back(std::move(made));
        for (const FieldLayout& layout : layouts_)
            if (layout.shared_id != 0) plan_.shared_ids.push_back(layout.shared_id);
    }

  private:
    [[nodiscard]] static bool is_by_message(int path) {
        return path == static_cast<int>(Path::packed) || path == static_cast<int>(Path::parts) ||
               path == static_cast<int>(Path::datatype);
    }
    /// Whether any path through the node's memory may be taken.
    [[nodiscard]] bool meets_on_node() const { return comm_.node_size() > 1 && !is_by_message(wishes_.path); }

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
        const int me = comm_.node_rank();
        own_probe_ = Probe::own();
        notes_->probe(me) = own_probe_.told();
        std::copy(layouts_.begin(), layouts_.end(), notes_->layouts(me).begin());
        node::NodeWindow::barrier(comm_);
        for (int other = 0; other < comm_.node_size(); ++other) {
            const auto theirs = notes_->layouts(other);
            const bool is_mapped = std::all_of(theirs.begin(), theirs.end(), [](const FieldLayout& layout) {
                return layout.shared_id != 0 &&
                       address_of({layout.shared_id, layout.shared_offset}) != nullptr;
            });
            notes_->maps(me, other) = std::byte(is_mapped);
            notes_->reads(me, other) = std::byte(can_read(notes_->probe(other)));
        }
        node::NodeWindow::barrier(comm_);
        return {};
    }

    [[nodiscard]] int node_rank_of(int rank) const {
        const mpi::Nodes& nodes = comm_.state().nodes;
        if (!nodes.is_own(rank)) return -1;
        const auto& ranks = nodes.own_ranks();
        return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
    }

    /// The path from one rank to another; the same answer on both, and on every rank of their node.
    [[nodiscard]] Path path_between(int sender, int receiver) const {
        if (sender == receiver) return Path::self;
        const auto by_message = is_by_message(wishes_.path) ? static_cast<Path>(wishes_.path)
                                : wishes_.path == any_path  ? choice_.by_message
                                                            : Path::packed;
        const int from = node_rank_of(sender), to = node_rank_of(receiver);
        if (!notes_ || from < 0 || to < 0) return by_message;
        const bool pulls = notes_->maps(to, from) != std::byte{0};
        const bool deposits = notes_->maps(from, to) != std::byte{0};
        const bool reads = notes_->reads(to, from) != std::byte{0};
        switch (wishes_.path) {
            case static_cast<int>(Path::direct):
                return pulls ? Path::direct : by_message;
            case static_cast<int>(Path::deposit):
                return deposits ? Path::deposit : by_message;
            case static_cast<int>(Path::cma):
                return reads ? Path::cma : by_message;
            case static_cast<int>(Path::staged):
                return Path::staged;
            default:
                if (pulls) return Path::direct;
                return choice_.on_node == Path::cma && !reads ? Path::staged : choice_.on_node;
        }
    }

    HaloPeer& peer(int rank) {
        const auto [at, is_new] = peers_.try_emplace(rank);
        if (is_new) {
            at->second.rank = rank;
            at->second.node_rank = node_rank_of(rank);
            at->second.in = path_between(rank, comm_.rank());
            at->second.out = path_between(comm_.rank(), rank);
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
            if (made.out == Path::deposit && made.bytes_out > 0) {
                const auto theirs = layouts_here(made.node_rank, true);
                add(copies_of(sent_, rank, layouts_, theirs), own_data(),
                    reinterpret_cast<std::byte*>(theirs[0].address));
            }
            const auto is_pulled = [](Path path) {
                return path == Path::direct || path == Path::cma || path == Path::staged;
            };
            made.waits_for_peer = (is_pulled(made.out) && made.bytes_out > 0) ||
                                  (made.in == Path::deposit && made.bytes_in > 0);
            plan_.has_channel = plan_.has_channel || made.waits_for_peer ||
                                (made.in != Path::self && (is_pulled(made.in) || made.out == Path::deposit));
            for (const Work& work : made.copies) made.pieces_in += work.copy.num_pieces();
        }
        return {};
    }

    /// Where in the node's staging memory the bytes from one of its ranks to another begin, for all pairs before this one;
    /// asked for {-1, -1}: how many there are.
    [[nodiscard]] std::int64_t staged_before(int sender, int receiver) const {
        constexpr std::int64_t align = 256;
        std::int64_t at = 0;
        for (const int from : comm_.state().nodes.own_ranks()) {
            std::map<int, std::int64_t> bytes;
            const auto transfers = plan_.geometry.sent_by(from);
            for (const Transfer& transfer : transfers) {
                if (path_between(from, transfer.peer) == Path::staged) bytes[transfer.peer] = 0;
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

    void add_messages(HaloPeer& made) {
        const auto is_packed = [](Path path) { return path == Path::packed || path == Path::parts; };
        if (is_packed(made.in) && made.bytes_in > 0) {
            made.receive_buffer.resize(static_cast<std::size_t>(made.bytes_in));
            made.unpack = packing(received_, made.rank, false, made.receive_buffer.data());
            for (const auto& part : parts_of(std::span(made.receive_buffer), made.in))
                add(made.receives, plan_.messages->add_receive(part, made.rank));
        } else if (made.in == Path::datatype && made.bytes_in > 0) {
            add(made.receives,
                plan_.messages->add_receive(all_pieces(received_, made.rank, false), made.rank));
        }
        if (is_packed(made.out) && made.bytes_out > 0) {
            made.send_buffer.resize(static_cast<std::size_t>(made.bytes_out));
            made.pack = packing(sent_, made.rank, true, made.send_buffer.data());
            for (const auto& part : parts_of(std::span<const std::byte>(made.send_buffer), made.out))
                add(made.sends, plan_.messages->add_send(part, made.rank));
        } else if (made.out == Path::datatype && made.bytes_out > 0) {
            add(made.sends, plan_.messages->add_send(all_pieces(sent_, made.rank, true), made.rank));
        }
    }

    HaloPlan& plan_;
    const Comm& comm_;
    Wishes wishes_;
    HaloChoice choice_;
    std::size_t num_dims_;
    std::vector<FieldLayout> layouts_;
    std::vector<Order> orders_;
    std::unique_ptr<Notes> notes_;
    Probe own_probe_;
    std::vector<Transfer> received_, sent_;
    std::map<int, HaloPeer> peers_;
};

}  // namespace

std::string_view to_string(Path path) {
    return path == Path::self ? "a copy" : names[static_cast<std::size_t>(path)];
}

std::span<const std::string_view> path_names() {
    return names;
}

bool HaloPlan::has_choice() const {
    return is_auto && std::any_of(peers.begin(), peers.end(), [](const HaloPeer& peer) {
               return peer.in != Path::self && peer.in != Path::direct && peer.bytes_in > 0;
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
    Status local = check_arguments(grid, fields, comm.size());
    if (!wishes.ok()) local.keep_first(wishes.status());
    mpi::agree_or_throw(comm, local);
    const GridRecord record = record_of(grid, fields, options.corners, wishes.value());
    const std::vector<std::int64_t> all = mpi::all_gather(comm, record.words);
    check_equal(all, comm.size()).throw_if_error();

    auto plan = std::make_unique<HaloPlan>();
    plan->comm = comm;
    plan->fields.assign(fields.begin(), fields.end());
    plan->timeout_s = wishes.value().timeout_s;
    plan->geometry = {.ghosts = grid.ghosts,
                      .ranks = grid.ranks,
                      .is_periodic = grid.is_periodic,
                      .corners = options.corners};
    plan->geometry.is_periodic.resize(grid.extents.size());
    for (std::size_t r = 0; r < static_cast<std::size_t>(comm.size()); ++r) {
        const auto first =
            all.begin() + static_cast<std::ptrdiff_t>(r * GridRecord::num_words + GridRecord::num_equal);
        plan->geometry.extents.emplace_back(first, first + static_cast<std::ptrdiff_t>(grid.extents.size()));
    }
    plan->geometry.check().throw_if_error();
    plan->is_auto = wishes.value().path == any_path;
    Planner(*plan, grid, wishes.value(), choice).make();
    return plan;
}

}  // namespace hakobi::exchange
