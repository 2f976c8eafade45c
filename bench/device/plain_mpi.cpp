#include "plain_mpi.hpp"

#include <algorithm>

#include "mpi/comm_state.hpp"
#include "pack_kernel.hpp"

namespace hakobi::bench {
namespace {

using mpi::check;
constexpr std::int64_t sent_value_bytes = sizeof(double);

/// One message a neighbour, its parts in the order of directions: between two ranks both have the same.
struct Message {
    int rank = 0;
    std::int64_t offset = 0, num_values = 0;  ///< in the buffer of all messages of its way
    std::vector<Runs> parts;
};

/// The messages of one way, with the buffer that all of them lie in.
class Messages {
  public:
    Messages(DeviceSite& site, const HaloCase& made, const std::vector<Direction>& directions, bool is_sent)
        : all_(of(made, directions, is_sent)),
          host_(agreed(site.comm, LockedArray::make(site.device, buffer_bytes()))),
          device_(agreed(site.comm, device::Buffer::on(site.device, buffer_bytes()))) {}

    [[nodiscard]] const std::vector<Message>& all() const { return all_; }
    [[nodiscard]] std::int64_t bytes() const {
        return all_.empty() ? 0 : (all_.back().offset + all_.back().num_values) * sent_value_bytes;
    }
    [[nodiscard]] double* host() const { return host_.as<double>(); }
    [[nodiscard]] double* device() const { return reinterpret_cast<double*>(device_.data()); }
    /// Calls `visit(part of the field, part of the buffer)`.
    template <class Visit>
    void each_part(Visit visit) const {
        for (const Message& m : all_) {
            std::int64_t offset = m.offset;
            for (const Runs& part : m.parts) {
                visit(part, packed(part, offset));
                offset += part.num_values();
            }
        }
    }

  private:
    static std::vector<Message> of(const HaloCase& made, const std::vector<Direction>& directions,
                                   bool is_sent) {
        std::vector<Message> messages;
        for (const Direction& direction : directions) {
            const int other = is_sent ? direction.to : direction.from;
            if (other < 0) continue;
            auto found = std::ranges::find(messages, other, &Message::rank);
            if (found == messages.end()) found = messages.insert(found, {.rank = other});
            found->parts.push_back(runs_of(made, is_sent ? direction.own : direction.ghost));
        }
        std::int64_t offset = 0;
        for (Message& message : messages) {
            message.offset = offset;
            for (const Runs& part : message.parts) message.num_values += part.num_values();
            offset += message.num_values;
        }
        return messages;
    }
    [[nodiscard]] std::int64_t buffer_bytes() const { return std::max(bytes(), sent_value_bytes); }

    std::vector<Message> all_;
    LockedArray host_;
    device::Buffer device_;
};

/// Messages that are under way together.
class Phase {
  public:
    Phase(DeviceSite& site, const HaloCase& made, const std::vector<Direction>& directions, double* field,
          MpiWay way)
        : site_(site),
          field_(field),
          way_(way),
          sends_(site, made, directions, true),
          receives_(site, made, directions, false),
          requests_(sends_.all().size() + receives_.all().size()) {
        if (has_kernels()) {
            pack_kernel_ = kernel_of(sends_);
            unpack_kernel_ = kernel_of(receives_);
            return;
        }
        double* const out = way == MpiWay::pinned ? sends_.host() : sends_.device();
        double* const in = way == MpiWay::pinned ? receives_.host() : receives_.device();
        sends_.each_part([&](const Runs& part, const Runs& in_buffer) {
            pack_.push_back(copy_of(out, in_buffer, field, part));
        });
        receives_.each_part([&](const Runs& part, const Runs& in_buffer) {
            unpack_.push_back(copy_of(field, part, in, in_buffer));
        });
    }
    void run() {
        double* const in = is_aware() ? receives_.device() : receives_.host();
        double* const out = is_aware() ? sends_.device() : sends_.host();
        MPI_Comm comm = site_.comm.handle();
        std::size_t at = 0;
        for (const Message& m : receives_.all())
            check(MPI_Irecv(in + m.offset, static_cast<int>(m.num_values), MPI_DOUBLE, m.rank, 0, comm,
                            &requests_[at++]),
                  "MPI_Irecv");
        pack();
        for (const Message& m : sends_.all())
            check(MPI_Isend(out + m.offset, static_cast<int>(m.num_values), MPI_DOUBLE, m.rank, 0, comm,
                            &requests_[at++]),
                  "MPI_Isend");
        check(MPI_Waitall(static_cast<int>(at), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        unpack();
    }

  private:
    [[nodiscard]] bool is_aware() const { return way_ == MpiWay::aware || way_ == MpiWay::kernel_aware; }
    [[nodiscard]] bool has_kernels() const { return way_ == MpiWay::kernel || way_ == MpiWay::kernel_aware; }
    [[nodiscard]] std::unique_ptr<PackKernel> kernel_of(const Messages& messages) {
        std::vector<PackRegion> regions;
        messages.each_part([&](const Runs& part, const Runs& in_buffer) {
            const auto number = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
            regions.push_back({.offset = number(part.offset),
                               .in_buffer = number(in_buffer.offset),
                               .num_values = number(part.num_values()),
                               .row_length = number(part.length),
                               .num_rows = number(part.num[1]),
                               .row_stride = number(part.strides[1]),
                               .plane_stride = number(part.strides[0])});
        });
        return agreed(site_.comm, PackKernel::make(site_, regions));
    }
    void start(double* to, const double* from, std::int64_t bytes) {
        must(site_.queue->start({.to = reinterpret_cast<std::byte*>(to),
                                 .from = reinterpret_cast<const std::byte*>(from),
                                 .length_bytes = bytes}));
    }
    // Kernels and what goes with them are in the default stream's order, copies in that of the queue.
    void pack() {
        if (has_kernels()) {
            must(pack_kernel_->pack(field_, sends_.device()));
            if (is_aware()) return must(site_.driver->finish());
            return site_.copy(sends_.host(), sends_.device(), sends_.bytes());
        }
        for (const device::Copy& copy : pack_) must(site_.queue->start(copy));
        if (way_ == MpiWay::packed) start(sends_.host(), sends_.device(), sends_.bytes());
        must(site_.queue->finish());
    }
    void unpack() {
        if (has_kernels()) {
            if (!is_aware()) site_.copy(receives_.device(), receives_.host(), receives_.bytes());
            must(unpack_kernel_->unpack(field_, receives_.device()));
            return must(site_.driver->finish());
        }
        if (way_ == MpiWay::packed) start(receives_.device(), receives_.host(), receives_.bytes());
        for (const device::Copy& copy : unpack_) must(site_.queue->start(copy));
        must(site_.queue->finish());
    }

    DeviceSite& site_;
    double* field_;
    MpiWay way_;
    Messages sends_, receives_;
    std::vector<device::Copy> pack_, unpack_;
    std::unique_ptr<PackKernel> pack_kernel_, unpack_kernel_;
    std::vector<MPI_Request> requests_;
};

class PlainMpi final : public OnDevice {
  public:
    PlainMpi(DeviceSite& site, const HaloCase& made, MpiWay way, bool has_phases) : OnDevice(site, made) {
        const int rank = site.comm.rank();
        const auto phases = has_phases ? phases_of(made, rank)
                                       : std::vector<std::vector<Direction>>{directions_of(made, rank)};
        for (const std::vector<Direction>& directions : phases)
            phases_.push_back(std::make_unique<Phase>(site, made, directions, values(), way));
    }
    void run() override {
        for (const auto& phase : phases_) phase->run();
    }

  private:
    std::vector<std::unique_ptr<Phase>> phases_;
};

}  // namespace

std::unique_ptr<DeviceEntrant> make_plain_mpi(DeviceSite& site, const HaloCase& made, MpiWay way,
                                              bool has_phases) {
    return std::make_unique<PlainMpi>(site, made, way, has_phases);
}

}  // namespace hakobi::bench
