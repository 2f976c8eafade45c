#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <hakobi/buffer_array.hpp>
#include <hakobi/error.hpp>
#include <map>
#include <utility>
#include <vector>

#include "base/checked.hpp"
#include "exchange/list_transfer.hpp"
#include "exchange/remote_copy.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/nonblocking.hpp"
#include "mpi/under_way.hpp"

namespace hakobi {
namespace {

using exchange::Answer;
using exchange::ListCursor;
using exchange::Probe;

constexpr int highest_list_tag = 10000;
/// So few bytes travel with the announcement.
constexpr std::int64_t inline_bytes = 4096;
/// The kernel takes about a microsecond for each piece: as long as packing and unpacking so many bytes.
constexpr std::int64_t least_read_piece_bytes = 4096;
/// Between nodes a part is not larger: MPI libraries send so few bytes at once (Open MPI over TCP up to 64
/// KiB).
constexpr std::int64_t most_part_bytes = std::int64_t{32} << 10;

struct Announcement {
    std::int64_t bytes = 0, process = 0, num_pieces = 0, is_inline = 0;
};

[[noreturn]] void refuse_list(const std::string& text) {
    throw Error(ErrorCode::invalid_argument, "BufferArray: " + text);
}

}  // namespace

struct BufferArrays::Shared {
    Comm comm;
    mpi::MessageContext context;
    bool may_read = true, must_read = false;  // by the kernel; where it can
    std::int64_t pack_bytes = 0;
    Probe own_probe;
    std::vector<std::int64_t> probes;  // process, address and value of every rank
    std::map<int, bool> reads;         // whether this rank reads that one's memory, as far as it was asked
    std::map<std::pair<int, int>, std::deque<BufferArray::Impl*>> turns;  // by rank and tag

    [[nodiscard]] bool is_near(int rank) const { return comm.state().nodes.is_own(rank); }
    /// Bytes of one part of a packed list; the same on both ranks.
    [[nodiscard]] std::int64_t part_bytes(int rank) const {
        return is_near(rank) ? pack_bytes : std::min(pack_bytes, most_part_bytes);
    }
    bool can_read(int rank) {
        if (!may_read || !is_near(rank)) return false;
        const auto [at, is_new] = reads.try_emplace(rank);
        const auto first = static_cast<std::size_t>(3 * rank);
        if (is_new)
            at->second = exchange::can_read(
                {.process = probes[first], .address = probes[first + 1], .value = probes[first + 2]});
        return at->second;
    }
};

struct HAKOBI_HIDDEN BufferArray::Impl final : mpi::UnderWay {
    std::shared_ptr<BufferArrays::Shared> shared;
    std::vector<::iovec> pieces;
    std::int64_t num_bytes = 0;

    enum class Kind { none, sends, receives } kind = Kind::none;
    exchange::Link link;
    Status status;
    exchange::Handshake handshake;
    exchange::Parts parts;

    device::Device *device = nullptr, *device_of_queue = nullptr;  // of the pieces; of the latest such
    mpi::DeviceQueue queue;  // ends before the parts that it copies from and to
    mpi::DeviceMark landed;  // what was received is in the pieces

    ~Impl() override {
        if (!is_under_way()) return;
        std::fprintf(stderr, "hakobi: a buffer array was destroyed while it was sent or received\n");
        leave();
        const auto locked = lock();
        end_turn();
    }
    [[nodiscard]] bool is_near() const { return shared->is_near(link.rank); }
    /// Lists that are received from this rank with this tag, in their order.
    [[nodiscard]] std::deque<BufferArray::Impl*>& turn() const {
        return shared->turns[{link.rank, link.tag}];
    }
    void end_turn() {
        if (kind == Kind::receives) std::erase(turn(), this);
    }
    Look finish(Status result) {
        status = std::move(result);
        if (device != nullptr && kind == Kind::receives) landed = queue.mark();
        end_turn();
        return Look::over;
    }
    void begin(Kind what, int other, int list_tag, DeviceStream stream) {
        if (is_under_way()) refuse_list("an operation of this list is in progress");
        if (other < 0 || other >= shared->comm.size())
            refuse_list("there is no rank " + std::to_string(other));
        if (list_tag < 0 || list_tag > highest_list_tag) refuse_list("tags go from 0 to 10000");
        // Two of pack_bytes, or as many bytes in shorter ones.
        parts
            .begin(pieces, num_bytes, shared->part_bytes(other), 2 * shared->pack_bytes, device,
                   device != nullptr ? &queue : nullptr)
            .throw_if_error();
        if (device != nullptr) queue.begin_after(stream).throw_if_error();
        kind = what;
        link = {.context = &shared->context, .rank = other, .tag = list_tag};
        status = {};
        handshake.reset();
        if (kind == Kind::receives) {
            const auto locked = lock();
            turn().push_back(this);
        } else {
            announce();
        }
        enter();
        look_at_all();
    }
    static constexpr Patience patience{.spins = 200};
    void wait() {
        wait_until_over(shared->comm, patience, device == nullptr);
        landed.wait(shared->comm, patience);
    }
    void wait(DeviceStream stream) {
        wait_until_over(shared->comm, patience, device == nullptr);
        if (device != nullptr) queue.hold_back(stream).throw_if_error();
    }
    /// So few bytes, in memory that this thread reads.
    [[nodiscard]] bool is_inline() const { return num_bytes <= inline_bytes && device == nullptr; }
    void announce() {
        Announcement head{.bytes = num_bytes, .process = shared->own_probe.process};
        head.is_inline = is_inline() ? 1 : 0;
        const auto num_pieces = static_cast<std::int64_t>(pieces.size());
        if (head.is_inline == 0 && device == nullptr && is_near() && shared->may_read &&
            (shared->must_read || num_bytes / num_pieces >= least_read_piece_bytes))
            head.num_pieces = num_pieces;
        std::vector<std::byte>& announcement = handshake.announcement;
        announcement.resize(sizeof head + static_cast<std::size_t>(head.num_pieces) * sizeof(::iovec) +
                            (head.is_inline != 0 ? static_cast<std::size_t>(num_bytes) : 0));
        std::memcpy(announcement.data(), &head, sizeof head);
        std::byte* at = announcement.data() + sizeof head;
        if (head.num_pieces > 0) std::memcpy(at, pieces.data(), pieces.size() * sizeof(::iovec));
        if (head.is_inline != 0) {
            ListCursor(pieces).next(num_bytes, [&](const std::byte* from, std::size_t bytes) {
                std::memcpy(at, from, bytes);
                at += bytes;
            });
        }
        handshake.announce(link);
    }

    /// Finds out where a piece is; it must be where the others are.
    void use_memory(const void* data, std::int64_t bytes, Memory memory) {
        const auto found = device::device_of(data, bytes, memory);
        if (!found.ok())
            Status(found.status().code(), "BufferArray: " + found.status().text()).throw_if_error();
        if (num_bytes > 0 && found.value() != device)
            throw Error(ErrorCode::unsupported,
                        "BufferArray: pieces on the host and on a device, or on two devices");
        if (num_bytes == 0) device = found.value();
        if (device == nullptr || device == device_of_queue) return;
        queue = {};  // waits for what it had
        parts = {};
        queue = mpi::DeviceQueue::of(*device);
        device_of_queue = device;
    }

    static Status differs(std::int64_t sent, std::int64_t room) {
        return {ErrorCode::format, "BufferArray: the sender has " +
                                       (sent < 0 ? std::string("another number of") : std::to_string(sent)) +
                                       " bytes, the receiver's pieces take " +
                                       (room < 0 ? std::string("others") : std::to_string(room))};
    }

    Look look() override { return kind == Kind::sends ? look_at_send() : look_at_receive(); }

    /// The receiver's answer, of its word.
    [[nodiscard]] Answer answer_of_word() const {
        if (is_near()) return static_cast<Answer>(handshake.word);
        if (handshake.word != num_bytes) return Answer::differs;
        return is_inline() ? Answer::taken : Answer::pack;
    }

    Look look_at_send() {
        if (!handshake.is_answered()) return Look::nothing;
        if (handshake.answer == Answer::none) handshake.answer = answer_of_word();
        if (handshake.answer == Answer::taken) return finish({});
        if (handshake.answer == Answer::differs)
            return finish(differs(num_bytes, is_near() ? -1 : handshake.word));
        const bool has_moved = parts.send(link);
        if (parts.is_sent()) return finish({});
        return has_moved ? Look::moved : Look::nothing;
    }

    Look look_at_receive() {
        if (turn().front() != this) return Look::nothing;
        if (!handshake.has_given && !is_near()) handshake.give_word(link, num_bytes);
        if (handshake.answer == Answer::none) return take_announcement();
        if (!handshake.is_word_sent()) return Look::nothing;
        if (handshake.answer == Answer::taken) return finish({});
        if (handshake.answer == Answer::differs) return finish(status);
        const bool has_moved = parts.receive(link);
        if (parts.is_received()) return finish({});
        return has_moved ? Look::moved : Look::nothing;
    }

    Look take_announcement() {
        if (!handshake.has_announcement(link)) return Look::nothing;
        const std::vector<std::byte>& announcement = handshake.announcement;
        Answer answer = Answer::pack;
        Announcement head;
        std::memcpy(&head, announcement.data(), sizeof head);
        const std::byte* at = announcement.data() + sizeof head;
        if (head.bytes != num_bytes) {
            answer = Answer::differs;
            status = differs(head.bytes, num_bytes);
        } else if (head.is_inline != 0 && device != nullptr) {
            answer = Answer::taken;
            parts.take({at, static_cast<std::size_t>(num_bytes)});
        } else if (head.is_inline != 0) {
            answer = Answer::taken;
            ListCursor(pieces).next(num_bytes, [&](std::byte* to, std::size_t bytes) {
                std::memcpy(to, at, bytes);
                at += bytes;
            });
        } else if (head.num_pieces > 0 && device == nullptr && read(head, at)) {
            answer = Answer::taken;
        } else {
            parts.receive(link);
        }
        handshake.answer = answer;
        if (!handshake.has_given) handshake.give_word(link, static_cast<std::int64_t>(answer));
        return Look::moved;
    }

    /// By the kernel, if it lets us.
    bool read(const Announcement& head, const std::byte* list) const {
        if (!shared->can_read(link.rank)) return false;
        std::vector<::iovec> theirs(static_cast<std::size_t>(head.num_pieces)), mine;
        std::memcpy(theirs.data(), list, theirs.size() * sizeof(::iovec));
        std::erase_if(theirs, [](const ::iovec& piece) { return piece.iov_len == 0; });
        std::copy_if(pieces.begin(), pieces.end(), std::back_inserter(mine),
                     [](const ::iovec& piece) { return piece.iov_len > 0; });
        return exchange::read_remote(head.process, theirs, mine);
    }
};

BufferArray::BufferArray(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BufferArray::BufferArray(BufferArray&&) noexcept = default;
BufferArray& BufferArray::operator=(BufferArray&&) noexcept = default;
BufferArray::~BufferArray() = default;

void BufferArray::append(void* data, std::int64_t bytes) {
    append(data, bytes, Memory::automatic);
}

void BufferArray::append(void* data, std::int64_t bytes, Memory memory) {
    if (impl_->is_under_way()) refuse_list("an operation of this list is in progress");
    const auto num_bytes = checked_add(impl_->num_bytes, bytes);
    if (bytes < 0 || (data == nullptr && bytes > 0) || !num_bytes)
        refuse_list("a piece of " + std::to_string(bytes) + " bytes");
    if (bytes > 0) impl_->use_memory(data, bytes, memory);
    impl_->pieces.push_back({data, static_cast<std::size_t>(bytes)});
    impl_->num_bytes = *num_bytes;
}

void BufferArray::release() {
    if (impl_->is_under_way()) refuse_list("an operation of this list is in progress");
    impl_->pieces.clear();
    impl_->num_bytes = 0;
    impl_->device = nullptr;
}

std::int64_t BufferArray::bytes() const noexcept {
    return impl_->num_bytes;
}

void BufferArray::send(int to, int tag) {
    impl_->begin(Impl::Kind::sends, to, tag, nullptr);
}

void BufferArray::receive(int from, int tag) {
    impl_->begin(Impl::Kind::receives, from, tag, nullptr);
}

void BufferArray::send(int to, int tag, DeviceStream stream) {
    impl_->begin(Impl::Kind::sends, to, tag, stream);
}

void BufferArray::receive(int from, int tag, DeviceStream stream) {
    impl_->begin(Impl::Kind::receives, from, tag, stream);
}

bool BufferArray::done() {
    if (impl_->is_under_way()) mpi::UnderWay::look_at_all();
    if (impl_->is_under_way() || !impl_->landed.is_over()) return false;
    std::exchange(impl_->status, Status()).throw_if_error();
    return true;
}

void BufferArray::wait() {
    impl_->wait();
    (void)done();
}

void BufferArray::wait(DeviceStream stream) {
    impl_->wait(stream);
    std::exchange(impl_->status, Status()).throw_if_error();
}

BufferArrays BufferArrays::get(const Comm& comm, const BufferArrayOptions& options) {
    Status local;
    if (options.path != "auto" && options.path != "cma" && options.path != "packed")
        local = {ErrorCode::invalid_argument,
                 "BufferArrays::get: no path '" + options.path + "' (auto, cma, packed)"};
    if (options.pack_bytes < 1 || options.pack_bytes > (1 << 30))
        local.keep_first({ErrorCode::invalid_argument, "BufferArrays::get: pack_bytes goes from 1 to 2^30"});
    mpi::agree_or_throw(comm, local);
    BufferArrays arrays;
    arrays.shared_ = std::make_shared<Shared>();
    Shared& shared = *arrays.shared_;
    shared.comm = comm;
    shared.may_read = options.path != "packed";
    shared.must_read = options.path == "cma";
    shared.pack_bytes = options.pack_bytes;
    shared.own_probe = Probe::own();
    const Probe told = shared.own_probe.told();
    const std::int64_t mine[] = {told.process, told.address, told.value, options.pack_bytes,
                                 shared.may_read + shared.must_read};
    const std::vector<std::int64_t> all = mpi::all_gather(comm, mine);
    for (std::size_t r = 0; r < static_cast<std::size_t>(comm.size()); ++r) {
        if (all[5 * r + 3] != all[3] || all[5 * r + 4] != all[4])
            throw Error(ErrorCode::invalid_argument,
                        "BufferArrays::get: rank " + std::to_string(r) + "'s options differ from rank 0's");
        for (std::size_t i = 0; i < 3; ++i) shared.probes.push_back(all[5 * r + i]);
    }
    shared.context = mpi::MessageContext::of(comm, mpi::MessageContext::Kind::buffer_arrays);
    return arrays;
}

BufferArray BufferArrays::make() const {
    auto impl = std::make_unique<BufferArray::Impl>();
    impl->shared = shared_;
    return BufferArray(std::move(impl));
}

std::string_view BufferArrays::path_to(int rank) const {
    const auto locked = mpi::UnderWay::lock();
    return shared_->can_read(rank) ? "cma" : "packed";
}

}  // namespace hakobi
