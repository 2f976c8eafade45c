#include "output/collect.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/guard.hpp"
#include "mpi/messages.hpp"
#include "output/assemble.hpp"

namespace hakobi::output {
namespace {

constexpr int blocks_tag = 7101, ask_tag = 7102, values_tag = 7103;
constexpr std::int64_t stop = -1;

/// One field's blocks in a writer's group: member 0 is the writer itself, whose values are in its own memory.
class Group final : public Members {
  public:
    /// `owed` counts, for each member, the bytes of the step that were not asked for yet.
    Group(const Comm& comm, std::span<const std::byte> own_values, std::vector<std::int64_t>& owed)
        : comm_(comm), own_(own_values.data()), owed_(owed) {}

    Status take(std::span<Request> requests) override {
        mpi::Receives receives(comm_);
        for (Request& request : requests) {
            if (request.member == 0) {
                request.data = own_;
                own_ += request.length_bytes;
            } else {
                const int rank = comm_.rank() + request.member;
                receives.add({request.space, static_cast<std::size_t>(request.length_bytes)}, rank,
                             values_tag);
                mpi::send_value(comm_, request.length_bytes, rank, ask_tag);
                request.data = request.space;
            }
            owed_[static_cast<std::size_t>(request.member)] -= request.length_bytes;
        }
        receives.wait();
        return {};
    }

  private:
    Comm comm_;
    const std::byte* own_;
    std::vector<std::int64_t>& owed_;
};

}  // namespace

Collector::Collector(const MethodSettings& settings, int stride)
    : comm_(settings.comm), buffer_bytes_(settings.options.buffer_bytes), sync_(settings.options.sync) {
    writer_ = comm_.rank() - comm_.rank() % stride;
    num_members_ = std::min(stride, comm_.size() - writer_);
}

Status Collector::prepare(const Step& step) {
    if (comm_.rank() != writer_) return {};
    return guarded("output buffer of " + std::to_string(buffer_bytes_) + " bytes", [&] {
        if (!buffer_)
            buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(buffer_bytes_));
        if (step.are_blocks_new) {
            blocks_.assign(step.parts.size(), std::vector<Block>(static_cast<std::size_t>(num_members_)));
        }
    });
}

mpi::Agreed Collector::write(const Step& step) {
    if (step.are_blocks_new) exchange_blocks(step);
    Status status;
    if (comm_.rank() == writer_) {
        status = write_group(step);
    } else {
        serve(step);
    }
    return mpi::agree(comm_, status);
}

void Collector::exchange_blocks(const Step& step) {
    const bool is_writer = comm_.rank() == writer_;
    for (std::size_t f = 0; f < step.parts.size(); ++f) {
        const Block& mine = step.parts[f].block;
        std::vector<std::int64_t> numbers = mine.start;
        numbers.insert(numbers.end(), mine.count.begin(), mine.count.end());
        if (!is_writer) {
            mpi::send(comm_, std::as_bytes(std::span(numbers)), writer_, blocks_tag);
            continue;
        }
        blocks_[f][0] = mine;
        for (int member = 1; member < num_members_; ++member) {
            mpi::Receives receives(comm_);
            receives.add(std::as_writable_bytes(std::span(numbers)), writer_ + member, blocks_tag);
            receives.wait();
            const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(mine.global.size());
            blocks_[f][static_cast<std::size_t>(member)] = {
                mine.global, {numbers.begin(), middle}, {middle, numbers.end()}};
        }
    }
}

Status Collector::write_group(const Step& step) {
    std::vector<std::int64_t> owed(static_cast<std::size_t>(num_members_), 0);
    for (std::size_t f = 0; f < blocks_.size(); ++f) {
        const std::int64_t element_bytes = format::bytes_of(step.description.fields[f].type);
        for (std::size_t m = 0; m < owed.size(); ++m) owed[m] += blocks_[f][m].num_elements() * element_bytes;
    }
    Status status = guarded("writing for other ranks", [&] { return write_fields(step, owed); });
    for (int member = 1; member < num_members_; ++member) {
        if (!status.ok() && owed[static_cast<std::size_t>(member)] > 0) {
            mpi::send_value(comm_, stop, writer_ + member, ask_tag);
        }
    }
    return status;
}

Status Collector::write_fields(const Step& step, std::vector<std::int64_t>& owed) {
    if (std::all_of(owed.begin(), owed.end(), [](std::int64_t bytes) { return bytes == 0; })) return {};
    Result<storage::FilePtr> opened = storage::open_file(step.part_path, {.read = false, .write = true});
    if (!opened.ok()) return opened.status();
    storage::File& file = *opened.value();
    Status status;
    for (std::size_t f = 0; f < blocks_.size() && status.ok(); ++f) {
        Group group(comm_, step.parts[f].values, owed);
        status = assemble(blocks_[f], format::bytes_of(step.description.fields[f].type),
                          step.layout.offsets_bytes[f], group, file,
                          {buffer_.get(), static_cast<std::size_t>(buffer_bytes_)});
    }
    if (status.ok() && sync_) status = file.sync();
    status.keep_first(file.close());
    return status;
}

void Collector::serve(const Step& step) const {
    for (const Part& part : step.parts) {
        for (std::span<const std::byte> rest = part.values; !rest.empty();) {
            const std::int64_t asked = mpi::receive_value(comm_, writer_, ask_tag);
            if (asked == stop) return;
            mpi::send(comm_, rest.first(static_cast<std::size_t>(asked)), writer_, values_tag);
            rest = rest.subspan(static_cast<std::size_t>(asked));
        }
    }
}

}  // namespace hakobi::output
