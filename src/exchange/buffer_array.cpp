// How a list goes from one rank to another; each list tag has three message tags.
//  1. The sender says how many bytes it has and, on a common node, where its pieces are (tag + 0). Few bytes come along.
//  2. The receiver of the list that is next in turn gives its word (tag + 1).
//     On a common node it first compares the numbers. It takes what came along, or has the kernel copy from the sender's
//     pieces to its own, and answers `taken`; it answers `differs`, which ends both; or `pack`.
//     Between nodes it says at once how many bytes it takes, and both compare: between two ranks that send to each other a
//     word would otherwise wait behind the bytes that go the same way, and these for nothing.
//  3. Asked to pack, the sender sends parts (tag + 2), some under way at a time; the receiver unpacks each. On a common node
//     a part is of pack_bytes, between nodes it is so short that the MPI library sends it without asking the receiver.
// A list's turn is over before the next of its pair and tag begins: parts of two lists never mix.
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
#include "base/copy_bytes.hpp"
#include "exchange/remote_copy.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/nonblocking.hpp"
#include "mpi/probed.hpp"
#include "mpi/under_way.hpp"

namespace hakobi {
namespace {

using exchange::Probe;
using mpi::ProbedMessage;

constexpr int highest_list_tag = 10000;
/// So few bytes travel with the announcement.
constexpr std::int64_t inline_bytes = 4096;
/// The kernel takes about a microsecond for each piece: as long as packing and unpacking so many bytes.
constexpr std::int64_t least_read_piece_bytes = 4096;
/// Between nodes a part is not larger: MPI libraries send so few bytes at once (Open MPI over TCP up to 64 KiB).
constexpr std::int64_t most_part_bytes = std::int64_t{32} << 10;

enum class Answer : std::int64_t { none, taken, pack, differs };

struct Announcement {
    std::int64_t bytes = 0, process = 0, num_pieces = 0, is_inline = 0;
};

int message_tag(int tag, int part) {
    return 3 * tag + part;
}

[[noreturn]] void refuse(const std::string& text) {
    throw Error(ErrorCode::invalid_argument, "BufferArray: " + text);
}

/// Goes through a list's bytes in order.
class ListCursor {
  public:
    explicit ListCursor(const std::vector<::iovec>& pieces) : pieces_(&pieces) {}
    /// Calls `visit(address, bytes)` for the next `bytes` bytes, piece by piece.
    template <class Visit>
    void next(std::int64_t bytes, Visit visit) {
        while (bytes > 0) {
            const ::iovec& piece = (*pieces_)[piece_];
            const std::int64_t part = std::min(bytes, static_cast<std::int64_t>(piece.iov_len) - at_);
            if (part > 0)
                visit(static_cast<std::byte*>(piece.iov_base) + at_, static_cast<std::size_t>(part));
            bytes -= part;
            at_ += part;
            if (at_ == static_cast<std::int64_t>(piece.iov_len)) ++piece_, at_ = 0;
        }
    }

  private:
    const std::vector<::iovec>* pieces_;
    std::size_t piece_ = 0;
    std::int64_t at_ = 0;
};

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

struct BufferArray::Impl final : mpi::UnderWay {
    std::shared_ptr<BufferArrays::Shared> shared;
    std::vector<::iovec> pieces;
    std::int64_t num_bytes = 0;

    enum class Kind { none, sends, receives } kind = Kind::none;
    int rank = -1, tag = 0;
    Status status;
    std::vector<std::byte> announcement;
    Answer answer = Answer::none;
    std::int64_t word =
        0;  // on tag + 1: an Answer on a common node, between nodes the receiver's number of bytes
    bool has_given = false;  // this rank its word
    ProbedMessage announced, answered;
    ListCursor cursor{pieces};
    std::int64_t left_bytes = 0;
    struct Part {
        std::vector<std::byte> packed;
        ProbedMessage message;
        std::int64_t bytes = 0;  // of a receive that is not unpacked yet
    };
    std::vector<Part> parts;  // used in turn
    std::size_t next_part = 0;

    ~Impl() override {
        if (!is_under_way()) return;
        std::fprintf(stderr, "hakobi: a buffer array was destroyed while it was sent or received\n");
        leave();
        const auto locked = lock();
        end_turn();
    }
    void end_turn() {
        if (kind == Kind::receives) std::erase(shared->turns[{rank, tag}], this);
    }
    Look finish(Status result) {
        status = std::move(result);
        end_turn();
        return Look::over;
    }
    void begin(Kind what, int other, int list_tag) {
        if (is_under_way()) refuse("an operation of this list is in progress");
        if (other < 0 || other >= shared->comm.size()) refuse("there is no rank " + std::to_string(other));
        if (list_tag < 0 || list_tag > highest_list_tag) refuse("tags go from 0 to 10000");
        kind = what;
        rank = other;
        tag = list_tag;
        status = {};
        answer = Answer::none;
        announcement.clear();
        cursor = ListCursor(pieces);
        left_bytes = num_bytes;
        has_given = false;
        // Two of pack_bytes, or as many bytes in shorter ones.
        const std::int64_t part_bytes = shared->part_bytes(rank);
        parts.resize(
            static_cast<std::size_t>(std::clamp((num_bytes + part_bytes - 1) / part_bytes, std::int64_t{1},
                                                2 * shared->pack_bytes / part_bytes)));
        next_part = 0;
        if (kind == Kind::receives) {
            const auto locked = lock();
            shared->turns[{rank, tag}].push_back(this);
        } else {
            announce();
        }
        enter();
        look_at_all();
    }
    void wait() const { wait_until_over(shared->comm, {.spins = 200}); }
    void announce() {
        Announcement head{.bytes = num_bytes, .process = shared->own_probe.process};
        head.is_inline = num_bytes <= inline_bytes;
        const auto num_pieces = static_cast<std::int64_t>(pieces.size());
        if (head.is_inline == 0 && shared->is_near(rank) && shared->may_read &&
            (shared->must_read || num_bytes / num_pieces >= least_read_piece_bytes))
            head.num_pieces = num_pieces;
        announcement.resize(sizeof head + static_cast<std::size_t>(head.num_pieces) * sizeof(::iovec) +
                            (head.is_inline != 0 ? static_cast<std::size_t>(num_bytes) : 0));
        std::memcpy(announcement.data(), &head, sizeof head);
        std::byte* at = announcement.data() + sizeof head;
        if (head.num_pieces > 0) std::memcpy(at, pieces.data(), pieces.size() * sizeof(::iovec));
        if (head.is_inline != 0) {
            cursor.next(num_bytes, [&](const std::byte* from, std::size_t bytes) {
                std::memcpy(at, from, bytes);
                at += bytes;
            });
        }
        answered = ProbedMessage::receive(shared->context, std::as_writable_bytes(std::span(&word, 1)), rank,
                                          message_tag(tag, 1));
        announced = ProbedMessage::send(shared->context, announcement, rank, message_tag(tag, 0));
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
        if (shared->is_near(rank)) return static_cast<Answer>(word);
        if (word != num_bytes) return Answer::differs;
        return num_bytes <= inline_bytes ? Answer::taken : Answer::pack;
    }

    Look look_at_send() {
        if (!announced.test() || !answered.test()) return Look::nothing;
        if (answer == Answer::none) answer = answer_of_word();
        if (answer == Answer::taken) return finish({});
        if (answer == Answer::differs) return finish(differs(num_bytes, shared->is_near(rank) ? -1 : word));
        Look did = Look::nothing;
        while (left_bytes > 0 && parts[next_part].message.test()) {
            Part& part = parts[next_part];
            const std::int64_t bytes = std::min(left_bytes, shared->part_bytes(rank));
            part.packed.resize(static_cast<std::size_t>(bytes));
            std::byte* at = part.packed.data();
            cursor.next(bytes, [&](const std::byte* from, std::size_t num) {
                copy_bytes(at, from, num);
                at += num;
            });
            part.message = ProbedMessage::send(shared->context, part.packed, rank, message_tag(tag, 2));
            next_part = (next_part + 1) % parts.size();
            left_bytes -= bytes;
            did = Look::moved;
        }
        const auto is_sent = [](Part& part) { return part.message.test(); };
        if (left_bytes == 0 && std::all_of(parts.begin(), parts.end(), is_sent)) return finish({});
        return did;
    }

    void give_word(std::int64_t what) {
        word = what;
        has_given = true;
        answered = ProbedMessage::send(shared->context, std::as_bytes(std::span(&word, 1)), rank,
                                       message_tag(tag, 1));
    }

    Look look_at_receive() {
        if (shared->turns[{rank, tag}].front() != this) return Look::nothing;
        if (!has_given && !shared->is_near(rank)) give_word(num_bytes);
        if (answer == Answer::none) return take_announcement();
        if (!answered.test()) return Look::nothing;
        if (answer == Answer::taken) return finish({});
        if (answer == Answer::differs) return finish(status);
        Look did = Look::nothing;
        for (Part* part = &parts[next_part]; part->bytes > 0 && part->message.test();
             part = &parts[next_part]) {
            const std::byte* at = part->packed.data();
            cursor.next(part->bytes, [&](std::byte* to, std::size_t num) {
                copy_bytes(to, at, num);
                at += num;
            });
            part->bytes = 0;
            post(*part);
            next_part = (next_part + 1) % parts.size();
            did = Look::moved;
        }
        if (parts[next_part].bytes == 0) return finish({});
        return did;
    }

    void post(Part& part) {
        const std::int64_t bytes = std::min(left_bytes, shared->part_bytes(rank));
        if (bytes == 0) return;
        part.packed.resize(static_cast<std::size_t>(bytes));
        part.message = ProbedMessage::receive(shared->context, part.packed, rank, message_tag(tag, 2));
        part.bytes = bytes;
        left_bytes -= bytes;
    }

    Look take_announcement() {
        if (announcement.empty()) {
            const std::int64_t bytes = ProbedMessage::probe(shared->context, rank, message_tag(tag, 0));
            if (bytes < 0) return Look::nothing;
            announcement.resize(static_cast<std::size_t>(bytes));
            announced = ProbedMessage::receive(shared->context, announcement, rank, message_tag(tag, 0));
        }
        if (!announced.test()) return Look::nothing;
        Announcement head;
        std::memcpy(&head, announcement.data(), sizeof head);
        const std::byte* at = announcement.data() + sizeof head;
        if (head.bytes != num_bytes) {
            answer = Answer::differs;
            status = differs(head.bytes, num_bytes);
        } else if (head.is_inline != 0) {
            answer = Answer::taken;
            cursor.next(num_bytes, [&](std::byte* to, std::size_t bytes) {
                std::memcpy(to, at, bytes);
                at += bytes;
            });
        } else {
            answer = head.num_pieces > 0 && read(head, at) ? Answer::taken : Answer::pack;
        }
        if (answer == Answer::pack)
            for (Part& part : parts) post(part);
        if (!has_given) give_word(static_cast<std::int64_t>(answer));
        return Look::moved;
    }

    /// By the kernel, if it lets us.
    bool read(const Announcement& head, const std::byte* list) const {
        if (!shared->can_read(rank)) return false;
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
    if (impl_->is_under_way()) refuse("an operation of this list is in progress");
    const auto num_bytes = checked_add(impl_->num_bytes, bytes);
    if (bytes < 0 || (data == nullptr && bytes > 0) || !num_bytes)
        refuse("a piece of " + std::to_string(bytes) + " bytes");
    impl_->pieces.push_back({data, static_cast<std::size_t>(bytes)});
    impl_->num_bytes = *num_bytes;
}

void BufferArray::release() {
    if (impl_->is_under_way()) refuse("an operation of this list is in progress");
    impl_->pieces.clear();
    impl_->num_bytes = 0;
}

std::int64_t BufferArray::bytes() const noexcept {
    return impl_->num_bytes;
}

void BufferArray::send(int to, int tag) {
    impl_->begin(Impl::Kind::sends, to, tag);
}

void BufferArray::receive(int from, int tag) {
    impl_->begin(Impl::Kind::receives, from, tag);
}

bool BufferArray::done() {
    if (impl_->is_under_way()) mpi::UnderWay::look_at_all();
    if (impl_->is_under_way()) return false;
    std::exchange(impl_->status, Status()).throw_if_error();
    return true;
}

void BufferArray::wait() {
    impl_->wait();
    (void)done();
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
