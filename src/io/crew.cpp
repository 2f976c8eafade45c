#include "io/crew.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <utility>

#include "io/plan.hpp"
#include "mpi/agree.hpp"
#include "mpi/at_finalize.hpp"

namespace hakobi::io {

Aggregators Aggregators::choose(const Comm& comm, int count, int per_node) {
    Aggregators result;
    result.ranks = choose_aggregators(comm.state().nodes.ranks, count, per_node);
    for (std::size_t d = 0; d < result.ranks.size(); ++d) {
        const int rank = result.ranks[d];
        const bool is_here = comm.state().nodes.is_own(rank);
        result.local_index.push_back(is_here ? result.num_local++ : -1);
        if (rank == comm.rank()) result.my_domain = static_cast<int>(d);
    }
    std::vector<int> num_of_node(static_cast<std::size_t>(comm.num_nodes()));
    for (const int rank : result.ranks) {
        const int node = comm.state().nodes.of_rank[static_cast<std::size_t>(rank)];
        result.most_of_a_node =
            std::max(result.most_of_a_node, ++num_of_node[static_cast<std::size_t>(node)]);
    }
    return result;
}

Crew& Crew::of(const Comm& comm) {
    return comm.state().attachment_of<Crew>();
}

Status Crew::set_up(const Comm& comm, const Wishes& wishes, const Aggregators& aggregators,
                    const CoreSet& cores) {
    const bool is_as_wished = is_set_up() && wishes_.aggregators == wishes.aggregators &&
                              wishes_.cb_bytes == wishes.cb_bytes && wishes_.depth >= wishes.depth &&
                              wishes_.access == wishes.access && wishes_.io_threads == wishes.io_threads;
    if (is_as_wished) return {};
    if (pipeline_) {
        pipeline_->wait_for_all(comm);
    }
    pipeline_.reset();
    buffers_ = {};
    // All ranks of the node are behind their last use of it: this call follows a meeting.
    free_window();
    const bool has_staging = comm.num_nodes() > 1;
    const std::int64_t bytes =
        NodeBuffers::bytes_needed(aggregators.num_local, has_staging, wishes.cb_bytes, wishes.depth);
    Status status = node::NodeWindow::allocate(comm, bytes + 4096, window_);
    if (comm.num_nodes() > 1) status = mpi::agree(comm, status).status;
    if (!status.ok()) {
        free_window();
        return status;
    }
    wishes_ = wishes;
    cores_ = cores;
    buffers_.cb_bytes = wishes.cb_bytes;
    buffers_.depth = wishes.depth;
    buffers_.window = &window_;
    buffers_.place(window_.data(), aggregators.num_local, has_staging);
    next_turns_.assign(static_cast<std::size_t>(aggregators.num_local), 0);
    Status failed;
    if (aggregators.my_domain >= 0) {
        const int local = aggregators.local_index[static_cast<std::size_t>(aggregators.my_domain)];
        local_ = static_cast<std::size_t>(local);
        failed = start_pipeline();
    }
    if (has_staging && comm.node_rank() == 0) {
        new (buffers_.staging) AggregatorState{};
        reset_staging();
    }
    failed = mpi::agree(comm, failed).status;
    if (!failed.ok()) {
        pipeline_.reset();
        buffers_ = {};
        free_window();
    }
    return failed;
}

storage::AccessOptions Crew::access_options() const {
    storage::AccessOptions options;
    options.name = wishes_.access;
    options.num_threads = wishes_.io_threads;
    options.queue_depth = buffers_.depth;
    options.cores = cores_;
    for (int b = 0; wishes_.access == "uring" && b < buffers_.depth; ++b) {
        options.buffers.emplace_back(buffers_.buffers[local_] + b * buffers_.cb_bytes,
                                     static_cast<std::size_t>(buffers_.cb_bytes));
    }
    return options;
}

Status Crew::start_pipeline() {
    new (buffers_.aggregators[local_]) AggregatorState{};
    auto access = storage::make_access(access_options());
    if (!access.ok()) return access.status();
    const Pipeline::Memory memory{buffers_.aggregators[local_], buffers_.buffers[local_],
                                  buffers_.marks[local_], buffers_.changed, buffers_.rings};
    try {
        pipeline_ = std::make_unique<Pipeline>(std::move(access).value(), memory, cores_);
    } catch (const std::exception& error) {  // no thread, or no memory, to be had
        return {ErrorCode::out_of_memory, std::string("starting the file access: ") + error.what()};
    }
    return {};
}

void Crew::prepare_turns(const Comm& comm, node::Team& team, const Rings& rings, const Rings& staging_rings) {
    const bool is_near_the_end =
        std::ranges::any_of(next_turns_, [](std::uint32_t turn) { return turn >= Slot::most_turns; });
    if (!is_near_the_end && buffers_.rings == rings && buffers_.staging_rings == staging_rings) return;
    if (pipeline_) pipeline_->divide(comm, rings);
    buffers_.rings = rings;
    buffers_.staging_rings = staging_rings;
    next_turns_.assign(buffers_.aggregators.size() * static_cast<std::size_t>(rings.num), 0);
    team.barrier();
}

void Crew::reset_staging() {
    if (buffers_.staging == nullptr) return;
    for (std::uint32_t b = 0; b < static_cast<std::uint32_t>(buffers_.staging_rings.total()); ++b) {
        Slot& slot = buffers_.staging->slots[b];
        slot.num_arrived.store(0);
        slot.turn.store(buffers_.staging_rings.first_turn(b));
    }
}

std::shared_ptr<Phase> Crew::begin(const Comm& comm, PhaseTask task) {
    auto phase = std::make_shared<Phase>(std::move(task));
    pipeline_->begin(comm, phase);
    return phase;
}

Service Crew::service_of(storage::File& file) const {
    if (!pipeline_) return Service::waits;  // abandoned since
    return file.profile().blocks(pipeline_->access().thread_limit()) ? Service::waits : Service::from_memory;
}

class Crew::EndAtFinalize {
  public:
    static void add(Crew* crew) {
        static std::once_flag once;
        std::call_once(once, [] { mpi::at_finalize(mpi::FinalizeStage::local, end_all); });
        const std::scoped_lock lock(mutex());
        crews().push_back(crew);
    }
    static void remove(Crew* crew) {
        const std::scoped_lock lock(mutex());
        std::erase(crews(), crew);
    }

  private:
    static void end_all() {
        const std::scoped_lock lock(mutex());
        for (Crew* const crew : crews()) crew->pipeline_.reset();
    }
    // Never destroyed: a Comm may be dropped after static destructors.
    static std::mutex& mutex() {
        static auto* const mutex = new std::mutex;
        return *mutex;
    }
    static std::vector<Crew*>& crews() {
        static auto* const crews = new std::vector<Crew*>;
        return *crews;
    }
};

Crew::Crew() {
    EndAtFinalize::add(this);
}

Crew::~Crew() {
    EndAtFinalize::remove(this);
}

void Crew::abandon() {
    if (pipeline_) {
        // Its threads, and what they still write to or read from, stay until the process ends.
        static auto* const kept = new std::deque<std::pair<std::unique_ptr<Pipeline>, node::NodeWindow>>;
        kept->emplace_back(std::move(pipeline_), std::move(window_));
        locked_.clear();
    }
    buffers_ = {};
    wishes_ = {};
    free_window();
}

void Crew::lock_pages(device::Device& device) {
    if (std::ranges::find(asked_, &device) != asked_.end()) return;
    asked_.push_back(&device);
    if (device.lock_pages(window_.data(), window_.size_bytes()).ok()) locked_.push_back(&device);
}

void Crew::free_window() {
    for (device::Device* const device : locked_) device->unlock_pages(window_.data());
    locked_.clear();
    asked_.clear();
    window_.free();
}

void Crew::free() {
    pipeline_.reset();
    buffers_ = {};
    wishes_ = {};
    free_window();
}

}  // namespace hakobi::io
