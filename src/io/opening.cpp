#include "io/opening.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/timeline.hpp"
#include "io/policy.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"

namespace hakobi::io {
namespace {

int chosen(int asked, int otherwise) {
    return asked > 0 ? asked : otherwise;
}

EngineOptions resolved(EngineOptions options, const Comm& comm, FileStripes& stripes) {
    if (options.access == "posix")
        options.depth = 1;  // the unpipelined original: one buffer, written in line
    options.depth = chosen(options.depth, policy_limits::usual_depth);
    if (options.cb_buffer_bytes == 0) options.cb_buffer_bytes = 4 << 20;
    int largest_node = 1;
    for (const auto& ranks : comm.state().nodes.ranks)
        largest_node = std::max(largest_node, static_cast<int>(ranks.size()));
    if (options.access == "posix" || !can_go_by_server(stripes, options.cb_buffer_bytes)) stripes = {};
    if (stripes.num_objects > 0) {
        if (options.cb_nodes == 0 && options.aggregators_per_node == 0)
            options.cb_nodes = aggregators_of(stripes, comm.num_nodes(), largest_node);
        const int num_aggregators =
            options.cb_nodes > 0 ? std::min(options.cb_nodes, comm.size())
                                 : comm.num_nodes() * std::min(options.aggregators_per_node, largest_node);
        options.server_requests = server_requests_of(stripes, num_aggregators, options.server_requests);
        options.io_threads =
            chosen(options.io_threads, striped_threads_of(stripes, num_aggregators, options.server_requests));
    }
    options.io_threads = chosen(options.io_threads, 4);
    options.aggregators_per_node = std::min(chosen(options.aggregators_per_node, 1), largest_node);
    if (options.cb_nodes > 0) options.cb_nodes = std::min(options.cb_nodes, comm.size());
    return options;
}

FileSetting setting_of(const Comm& comm, const EngineOptions& options, const EngineFile& file,
                       bool shares_blocks) {
    FileSetting setting;
    setting.num_ranks = comm.size();
    setting.is_one_node = comm.num_nodes() == 1;
    setting.shuffle = options.shuffle == "always"  ? ShuffleHint::always
                      : options.shuffle == "never" ? ShuffleHint::never
                                                   : ShuffleHint::automatic;
    setting.may_fill_holes = options.holes == "auto";
    setting.is_direct_io = options.direct_io;
    setting.has_own_errors = file.has_own_errors;
    setting.shares_blocks = shares_blocks;
    setting.has_limit = options.storage_timeout_s > 0;
    setting.cb_bytes = options.cb_buffer_bytes;
    setting.large_piece_bytes = large_piece_bytes(options.striping_unit_bytes, options.cb_buffer_bytes);
    return setting;
}

}  // namespace

Opening agree_on_opening(const Comm& comm, const EngineOptions& options, const OpenedFile& file,
                         Status& status) {
    enum {
        failed,
        profile,
        trace,
        text,
        minus_text,
        thresholds,
        minus_thresholds,
        stripe,
        block,
        stripe_of_layout,
        objects,
        servers,
        by_request,
        no_locks,
        num_words
    };
    std::array<std::int64_t, num_words> words{};
    words[failed] = status.ok() ? 0 : 1;
    words[profile] = is_profile_wanted(options) ? 1 : 0;  // variables may be set for some ranks only
    words[trace] = Timeline::is_wanted() ? 1 : 0;
    words[text] = fingerprint(options);
    words[minus_text] = -words[text];
    static const std::int64_t policy_in_force = fingerprint(policy());
    words[thresholds] = policy_in_force;
    words[minus_thresholds] = -words[thresholds];
    if (comm.rank() == 0 && file.is_open()) {
        words[stripe] = std::clamp(file->abilities().stripe_bytes, policy_limits::least_stripe,
                                   policy_limits::most_stripe);
        const storage::Layout& layout = file->layout();
        words[stripe_of_layout] = layout.stripe_bytes();
        words[objects] = layout.num_stripes();
        words[servers] = layout.num_servers();
        words[by_request] = file->abilities().has_ranges ? 0 : 1;  // objects, which are read only
    }
    if (file.is_open() && comm.num_nodes() > 1) words[block] = file->abilities().writer_block_bytes;
    if (file.is_open()) words[no_locks] = file->abilities().locks_ranges ? 0 : 1;
    mpi::all_max(comm, words);
    Opening opening;
    opening.has_failed = words[failed] != 0;
    if (words[thresholds] != -words[minus_thresholds]) {
        opening.has_failed = true;
        status.keep_first({ErrorCode::invalid_argument, "hints hakobi_policy_… differ between ranks"});
    }
    opening.wants = {words[profile] != 0, words[trace] != 0};
    EngineOptions agreed = options;
    if (words[text] != -words[minus_text]) {
        Result<EngineOptions> of_rank_0 = options_of_rank_0(comm, options);
        if (!of_rank_0.ok()) status.keep_first(of_rank_0.status());
        opening.has_failed = opening.has_failed || !of_rank_0.ok();  // all have the same text
        agreed = of_rank_0.ok() ? std::move(of_rank_0).value() : EngineOptions{};
    }
    opening.is_cycle_chosen = agreed.cb_buffer_bytes == 0;
    if (agreed.striping_unit_bytes == 0) agreed.striping_unit_bytes = words[stripe];
    // Domains and cycles are whole blocks, where nodes may not write to one block at once.
    const std::int64_t block_bytes = std::max<std::int64_t>(1, words[block]);
    for (std::int64_t* bytes : {&agreed.striping_unit_bytes, &agreed.cb_buffer_bytes})
        *bytes = (*bytes + block_bytes - 1) / block_bytes * block_bytes;
    opening.stripes = {words[stripe_of_layout], static_cast<int>(words[objects]),
                       static_cast<int>(words[servers])};
    opening.options = resolved(std::move(agreed), comm, opening.stripes);
    opening.setting = setting_of(comm, opening.options, file.name(), block_bytes > 1);
    opening.setting.is_striped = opening.stripes.num_objects > 0;
    opening.setting.reads_by_request = words[by_request] != 0;
    opening.setting.may_fill_holes = opening.setting.may_fill_holes && words[no_locks] == 0;
    // Two accesses to one sector, or one block between nodes, must not be under way at once; a buffer that is
    // left to an access that may never end has no end to wait for; and nodes tell each other by locks.
    opening.may_hide = opening.options.hidden != "off" && !opening.options.direct_io &&
                       !opening.setting.shares_blocks && !opening.setting.has_limit &&
                       (comm.num_nodes() == 1 || words[no_locks] == 0);
    return opening;
}

}  // namespace hakobi::io
