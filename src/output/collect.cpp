#include "output/collect.hpp"

#include <algorithm>
#include <cassert>

#include "base/guard.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"
#include "region/copy.hpp"
#include "region/cursor.hpp"
#include "series/assemble.hpp"
#include "series/receipts.hpp"
#include "series/step_file.hpp"

namespace hakobi::output {
namespace {

constexpr int regions_tag = 7101, ask_tag = 7102, values_tag = 7103;
constexpr std::int64_t stop = -1;

/// One array's parts in a writer's group: member 0 is the writer itself, whose values are in its own memory.
class Group final : public series::Members {
  public:
    /// `owed` counts, for each member, the bytes of the step that were not asked for yet.
    Group(const Comm& comm, const Region& own_memory, std::vector<std::int64_t>& owed)
        : comm_(comm), own_(own_memory), owed_(owed) {}

    Status take(std::span<Request> requests) override {
        mpi::Receives receives(comm_);
        for (Request& request : requests) {
            if (request.member == 0) {
                take_own(request);
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
    void take_own(Request& request) {
        if (own_.remaining() >= request.length_bytes) {
            request.data = reinterpret_cast<const std::byte*>(own_.offset());
            own_.advance(request.length_bytes);
        } else {
            pack(own_, nullptr, own_.stream() + request.length_bytes, request.space);
            request.data = request.space;
        }
    }

    Comm comm_;
    Cursor own_;
    std::vector<std::int64_t>& owed_;
};

}  // namespace

Collector::Collector(const MethodSettings& settings, int stride)
    : comm_(settings.comm),
      buffer_bytes_(settings.options.buffer_bytes),
      stride_(stride),
      sync_(settings.options.sync),
      is_hidden_(settings.hidden.is_on) {
    writer_ = comm_.rank() - comm_.rank() % stride;
    num_members_ = std::min(stride, comm_.size() - writer_);
    if (!is_hidden_ || comm_.rank() != writer_) return;
    const auto num_writers = std::ranges::count_if(comm_.state().nodes.own_ranks(),
                                                   [stride](int rank) { return rank % stride == 0; });
    hidden_ = HiddenFiles(comm_, settings.hidden.node_bytes / num_writers, settings.hidden.cores);
}

Status Collector::prepare(const Step& step) {
    if (comm_.rank() != writer_) return {};
    hidden_.prepare();
    return guarded("output buffer of " + std::to_string(buffer_bytes_) + " bytes", [&] {
        if (!buffer_)
            buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(buffer_bytes_));
        if (step.are_regions_new) {
            regions_.assign(step.parts.size(), std::vector<Region>(static_cast<std::size_t>(num_members_)));
        }
    });
}

mpi::Agreed Collector::write(const Step& step) {
    if (step.are_regions_new) exchange_regions(step);
    Status status;
    if (comm_.rank() == writer_) {
        status = write_group(step);
    } else {
        serve(step);
    }
    const mpi::Agreed agreed = mpi::agree(comm_, status);
    if (is_hidden_) hidden_.end_step(agreed.status.ok());
    return agreed;
}

mpi::Agreed Collector::wait(double& stored_s) {
    const Status status = hidden_.wait_for_oldest(stored_s);
    return mpi::agree(comm_, status);
}

void Collector::abandon(const Step&) {
    hidden_.drop();
}

void Collector::exchange_regions(const Step& step) {
    for (std::size_t p = 0; p < step.parts.size(); ++p) {
        std::vector<std::int64_t> words;
        step.parts[p].file.to_words(words);
        if (comm_.rank() != writer_) {
            mpi::send_value(comm_, std::ssize(words), writer_, regions_tag);
            mpi::send(comm_, std::as_bytes(std::span(words)), writer_, regions_tag);
            continue;
        }
        regions_[p][0] = step.parts[p].file;
        for (int member = 1; member < num_members_; ++member) {
            words.resize(static_cast<std::size_t>(mpi::receive_value(comm_, writer_ + member, regions_tag)));
            mpi::Receives receives(comm_);
            receives.add(std::as_writable_bytes(std::span(words)), writer_ + member, regions_tag);
            receives.wait();
            regions_[p][static_cast<std::size_t>(member)] = Region::from_words(words);
        }
    }
}

Status Collector::write_group(const Step& step) {
    std::vector<std::int64_t> owed(static_cast<std::size_t>(num_members_), 0);
    for (const std::vector<Region>& members : regions_) {
        for (std::size_t m = 0; m < owed.size(); ++m) owed[m] += members[m].size_bytes();
    }
    assert(regions_.size() == step.parts.size());
    Status status = guarded("writing for other ranks", [&] { return write_fields(step, owed); });
    for (int member = 1; member < num_members_; ++member) {
        if (!status.ok() && owed[static_cast<std::size_t>(member)] > 0) {
            mpi::send_value(comm_, stop, writer_ + member, ask_tag);
        }
    }
    return status;
}

Status Collector::write_fields(const Step& step, std::vector<std::int64_t>& owed) {
    const auto is_none = [](std::int64_t bytes) { return bytes == 0; };
    if (!hidden_.has_writer() && std::ranges::all_of(owed, is_none)) return {};
    Result<storage::FilePtr> opened =
        storage::open_file(step.part_path, {.read = false,
                                            .write = true,
                                            .is_shared = num_members_ < comm_.size() && comm_.num_nodes() > 1,
                                            .is_others = comm_.num_nodes() > 1});
    if (!opened.ok()) return opened.status();
    HiddenFile* const hidden = hidden_.has_writer() ? &hidden_.take(std::move(opened).value()) : nullptr;
    storage::File& file = hidden != nullptr ? *hidden : *opened.value();
    Status status;
    if (hidden != nullptr) status = series::write_metadata(file, step.layout.metadata);
    for (std::size_t p = 0; p < regions_.size() && status.ok(); ++p) {
        Group group(comm_, step.parts[p].memory, owed);
        status = series::assemble(regions_[p], group, file,
                                  {buffer_.get(), static_cast<std::size_t>(buffer_bytes_)});
    }
    if (status.ok() && sync_) status = file.sync();
    if (hidden != nullptr) {
        hidden->when_written([of = series::receipt_of(step), writer = comm_.rank() / stride_,
                              num = (comm_.size() + stride_ - 1) / stride_](storage::File& written) {
            series::write_receipt(written, of, writer, num);
        });
    }
    status.keep_first(file.close());
    return status;
}

void Collector::serve(const Step& step) const {
    std::vector<std::byte> packed;
    for (const Part& part : step.parts) {
        for (Cursor memory(part.memory); !memory.at_end();) {
            const std::int64_t asked = mpi::receive_value(comm_, writer_, ask_tag);
            if (asked == stop) return;
            const std::byte* data = reinterpret_cast<const std::byte*>(memory.offset());
            if (memory.remaining() >= asked) {
                memory.advance(asked);
            } else {
                packed.resize(static_cast<std::size_t>(asked));
                pack(memory, nullptr, memory.stream() + asked, packed.data());
                data = packed.data();
            }
            mpi::send(comm_, {data, static_cast<std::size_t>(asked)}, writer_, values_tag);
        }
    }
}

Result<std::unique_ptr<Method>> make_root(const MethodSettings& settings) {
    return std::unique_ptr<Method>(new Collector(settings, settings.comm.size()));
}

Result<std::unique_ptr<Method>> make_writers(const MethodSettings& settings) {
    int stride = settings.options.writer_stride;
    if (stride < 0) {
        return Status(ErrorCode::invalid_argument,
                      "writer_stride is " + std::to_string(stride) + ": it counts ranks from 1");
    }
    if (stride == 0) {
        const int ranks_per_node = std::max(1, settings.comm.size() / settings.comm.num_nodes());
        stride = std::min(4, ranks_per_node);
    }
    return std::unique_ptr<Method>(new Collector(settings, std::min(stride, settings.comm.size())));
}

}  // namespace hakobi::output
