#include <algorithm>
#include <cstring>
#include <hakobi/error.hpp>
#include <hakobi/shared_array.hpp>

#include "contender.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::bench {
namespace {

using mpi::check;

/// Memory as programs have it: touched once by the rank that uses it.
class OwnMemory : public HaloContender {
  public:
    explicit OwnMemory(const HaloCase& halo_case)
        : values_(static_cast<std::size_t>(halo_case.num_values()), 0.0) {}
    double* values() override { return values_.data(); }

  private:
    std::vector<double> values_;
};

MPI_Datatype type_of(const HaloCase& made, const Subarray& part) {
    const std::vector<int> sizes = made.sizes();
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check(MPI_Type_create_subarray(static_cast<int>(sizes.size()), sizes.data(), part.sizes.data(),
                                   part.starts.data(), MPI_ORDER_C, MPI_DOUBLE, &type),
          "MPI_Type_create_subarray");
    check(MPI_Type_commit(&type), "MPI_Type_commit");
    return type;
}

/// MPI_Neighbor_alltoallw on a graph of all directions.
class NeighborAlltoallw : public OwnMemory {
  public:
    NeighborAlltoallw(const Comm& comm, const HaloCase& made) : OwnMemory(made) {
        std::vector<int> sources, targets;
        for (const Direction& direction : directions_of(made, comm.rank())) {
            if (direction.from >= 0)
                sources.push_back(direction.from), receives_.push_back(type_of(made, direction.ghost));
            if (direction.to >= 0)
                targets.push_back(direction.to), sends_.push_back(type_of(made, direction.own));
        }
        check(MPI_Dist_graph_create_adjacent(comm.handle(), static_cast<int>(sources.size()), sources.data(),
                                             MPI_UNWEIGHTED, static_cast<int>(targets.size()), targets.data(),
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_),
              "MPI_Dist_graph_create_adjacent");
        ones_.assign(std::max(sources.size(), targets.size()), 1);
        zeros_.assign(ones_.size(), 0);
    }
    ~NeighborAlltoallw() override {
        for (auto* types : {&sends_, &receives_})
            for (MPI_Datatype& type : *types) MPI_Type_free(&type);
        MPI_Comm_free(&graph_);
    }
    void exchange() override {
        check(MPI_Neighbor_alltoallw(values(), ones_.data(), zeros_.data(), sends_.data(), values(),
                                     ones_.data(), zeros_.data(), receives_.data(), graph_),
              "MPI_Neighbor_alltoallw");
    }

  private:
    MPI_Comm graph_ = MPI_COMM_NULL;
    std::vector<MPI_Datatype> sends_, receives_;
    std::vector<int> ones_;
    std::vector<MPI_Aint> zeros_;
};

/// MPI_Isend and MPI_Irecv of subarrays: all directions at once, or dimension after dimension.
class Datatypes : public OwnMemory {
  public:
    Datatypes(const Comm& comm, const HaloCase& made, const std::vector<std::vector<Direction>>& phases)
        : OwnMemory(made), comm_(comm.handle()) {
        for (const auto& phase : phases) {
            phases_.emplace_back();
            for (std::size_t i = 0; i < phase.size(); ++i) {
                const int tag = static_cast<int>(i);
                if (phase[i].from >= 0)
                    phases_.back().push_back({false, phase[i].from, tag, type_of(made, phase[i].ghost)});
                if (phase[i].to >= 0)
                    phases_.back().push_back({true, phase[i].to, tag, type_of(made, phase[i].own)});
            }
        }
    }
    ~Datatypes() override {
        for (auto& phase : phases_)
            for (Message& message : phase) MPI_Type_free(&message.type);
    }
    void exchange() override {
        for (const auto& phase : phases_) {
            requests_.resize(phase.size());
            std::size_t at = 0;
            for (const Message& m : phase)
                if (!m.is_send)
                    check(MPI_Irecv(values(), 1, m.type, m.rank, m.tag, comm_, &requests_[at++]),
                          "MPI_Irecv");
            for (const Message& m : phase)
                if (m.is_send)
                    check(MPI_Isend(values(), 1, m.type, m.rank, m.tag, comm_, &requests_[at++]),
                          "MPI_Isend");
            check(MPI_Waitall(static_cast<int>(at), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        }
    }

  private:
    struct Message {
        bool is_send;
        int rank, tag;
        MPI_Datatype type;
    };
    MPI_Comm comm_;
    std::vector<std::vector<Message>> phases_;
    std::vector<MPI_Request> requests_;
};

/// Goes through a part of the array in the order of memory: `visit(first value, number of values in a row)`.
/// The row loop stands alone, as it does in hand-written code.
template <class Visit>
void each_row(const std::vector<int>& sizes, const Subarray& part, double* values, Visit visit) {
    const std::size_t last = sizes.size() - 1;
    const auto go = [&](const auto& self, std::size_t m, std::int64_t offset) -> void {
        if (m + 1 == last) {
            double* row = values + (offset * sizes[m] + part.starts[m]) * sizes[last] + part.starts[last];
            for (int i = 0; i < part.sizes[m]; ++i, row += sizes[last]) visit(row, part.sizes[last]);
            return;
        }
        for (int i = 0; i < part.sizes[m]; ++i) self(self, m + 1, offset * sizes[m] + part.starts[m] + i);
    };
    go(go, 0, 0);
}

double* pack(const std::vector<int>& sizes, const Subarray& part, double* values, double* packed) {
    each_row(sizes, part, values, [&](const double* row, int num) {
        if (num == 1) {
            *packed++ = *row;
        } else {
            packed = std::copy_n(row, num, packed);
        }
    });
    return packed;
}

const double* unpack(const std::vector<int>& sizes, const Subarray& part, double* values,
                     const double* packed) {
    each_row(sizes, part, values, [&](double* row, int num) {
        if (num == 1) {
            *row = *packed++;
        } else {
            std::copy_n(packed, num, row);
            packed += num;
        }
    });
    return packed;
}

/// Persistent requests and packing by hand: one message a neighbour, all directions at once or dimension
/// after dimension.
class Packed : public OwnMemory {
  public:
    Packed(const Comm& comm, const HaloCase& made, const std::vector<std::vector<Direction>>& phases)
        : OwnMemory(made), sizes_(made.sizes()) {
        for (const auto& directions : phases) {
            Phase& phase = phases_.emplace_back();
            // Between two ranks both have the directions in the same order.
            for (const Direction& direction : directions) {
                if (direction.from >= 0)
                    message(phase.receives, direction.from).parts.push_back(direction.ghost);
                if (direction.to >= 0) message(phase.sends, direction.to).parts.push_back(direction.own);
            }
            for (auto* messages : {&phase.receives, &phase.sends}) {
                for (Message& m : *messages) {
                    std::int64_t num = 0;
                    for (const Subarray& part : m.parts) num += part.num_values();
                    m.buffer.resize(static_cast<std::size_t>(num));
                    MPI_Request& request = phase.requests.emplace_back();
                    const auto count = static_cast<int>(num);
                    check(messages == &phase.receives ? MPI_Recv_init(m.buffer.data(), count, MPI_DOUBLE,
                                                                      m.rank, 0, comm.handle(), &request)
                                                      : MPI_Send_init(m.buffer.data(), count, MPI_DOUBLE,
                                                                      m.rank, 0, comm.handle(), &request),
                          "MPI_Recv_init or MPI_Send_init");
                }
            }
        }
    }
    ~Packed() override {
        for (Phase& phase : phases_)
            for (MPI_Request& request : phase.requests) MPI_Request_free(&request);
    }
    void exchange() override {
        for (Phase& phase : phases_) {
            const auto num_receives = static_cast<int>(phase.receives.size());
            if (num_receives > 0) check(MPI_Startall(num_receives, phase.requests.data()), "MPI_Startall");
            for (std::size_t i = 0; i < phase.sends.size(); ++i) {
                double* at = phase.sends[i].buffer.data();
                for (const Subarray& part : phase.sends[i].parts) at = pack(sizes_, part, values(), at);
                check(MPI_Start(&phase.requests[phase.receives.size() + i]), "MPI_Start");
            }
            check(MPI_Waitall(static_cast<int>(phase.requests.size()), phase.requests.data(),
                              MPI_STATUSES_IGNORE),
                  "MPI_Waitall");
            for (Message& m : phase.receives) {
                const double* at = m.buffer.data();
                for (const Subarray& part : m.parts) at = unpack(sizes_, part, values(), at);
            }
        }
    }

  private:
    struct Message {
        int rank;
        std::vector<Subarray> parts;
        std::vector<double> buffer;
    };
    struct Phase {
        std::vector<Message> receives, sends;
        std::vector<MPI_Request> requests;  // of the receives, then of the sends
    };
    static Message& message(std::vector<Message>& messages, int rank) {
        for (Message& m : messages)
            if (m.rank == rank) return m;
        return messages.emplace_back(Message{rank, {}, {}});
    }
    std::vector<int> sizes_;
    std::vector<Phase> phases_;
};

class Ours : public HaloContender {
  public:
    Ours(const Comm& comm, const HaloCase& made, const std::string& path, bool is_shared) {
        if (is_shared) {
            shared_ = allocate_shared(comm, 8 * made.num_values());
        } else {
            own_.resize(static_cast<std::size_t>(made.num_values()));
        }
        std::fill_n(values(), made.num_values(), 0.0);
        const HaloGrid grid = made.grid();
        const HaloField field = HaloField::dense(
            values(), grid, sizeof(double), made.num_components,
            made.components_first ? HaloField::Components::first : HaloField::Components::last);
        halo_ = std::make_unique<Halo>(
            Halo::plan(comm, grid, std::span(&field, 1), {.corners = made.corners, .path = path}));
    }
    void exchange() override { halo_->exchange(); }
    double* values() override { return own_.empty() ? shared_.as<double>() : own_.data(); }
    [[nodiscard]] std::string explain() const override { return halo_->explain(); }

  private:
    SharedArray shared_;
    std::vector<double> own_;
    std::unique_ptr<Halo> halo_;
};

constexpr std::string_view names[] = {"neighbor-alltoallw",
                                      "datatypes",
                                      "packed",
                                      "phases-datatypes",
                                      "phases-packed",
                                      "hakobi",
                                      "hakobi-own-memory",
                                      "hakobi-direct",
                                      "hakobi-deposit",
                                      "hakobi-cma",
                                      "hakobi-staged",
                                      "hakobi-packed",
                                      "hakobi-parts",
                                      "hakobi-datatype",
#ifdef HAKOBI_HAVE_GHEX
                                      "ghex"
#endif
};

}  // namespace

std::span<const std::string_view> halo_contender_names() {
    return names;
}

std::unique_ptr<HaloContender> make_halo_contender(std::string_view name, const Comm& comm,
                                                   const HaloCase& made) {
    const int rank = comm.rank();
    if (name == "neighbor-alltoallw") return std::make_unique<NeighborAlltoallw>(comm, made);
    if (name == "datatypes")
        return std::make_unique<Datatypes>(comm, made,
                                           std::vector<std::vector<Direction>>{directions_of(made, rank)});
    if (name == "packed")
        return std::make_unique<Packed>(comm, made,
                                        std::vector<std::vector<Direction>>{directions_of(made, rank)});
    if (name == "phases-datatypes") return std::make_unique<Datatypes>(comm, made, phases_of(made, rank));
    if (name == "phases-packed") return std::make_unique<Packed>(comm, made, phases_of(made, rank));
#ifdef HAKOBI_HAVE_GHEX
    if (name == "ghex") return make_ghex_contender(comm, made);
#endif
    if (name == "hakobi") return std::make_unique<Ours>(comm, made, "auto", true);
    if (name == "hakobi-own-memory") return std::make_unique<Ours>(comm, made, "auto", false);
    const std::string path(name.substr(std::min(name.size(), std::string_view("hakobi-").size())));
    const bool is_shared = path == "direct" || path == "deposit";
    return std::make_unique<Ours>(comm, made, path, is_shared);
}

}  // namespace hakobi::bench
