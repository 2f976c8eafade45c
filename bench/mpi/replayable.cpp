#include "replayable.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace hakobi::bench {
namespace {

/// A message that no receive has met, or a receive that no message has met: by the event of rank `rank`.
struct Half {
    int rank;
    std::size_t event;
    int partner;  ///< of a message its sender, of a receive whom it is from; -1 any
    int tag;      ///< -1 any
};

/// Messages that came to a rank on one communicator, and receives that wait, each in order.
struct Mailbox {
    std::deque<Half> messages, receives;
};

/// A collective call that its ranks come to.
struct Meeting {
    int rank = 0;  ///< that came first, with this event
    std::size_t event = 0;
    std::set<int> came;
};

bool is_met_by(const Half& receive, const Half& message) {
    return (receive.partner == -1 || receive.partner == message.partner) &&
           (receive.tag == -1 || receive.tag == message.tag);
}

bool is_sending(const TraceEvent& event) {
    return event.call == "send" || event.call == "isend" || event.call == "sendrecv";
}

bool is_receiving(const TraceEvent& event) {
    return event.call == "receive" || event.call == "ireceive" || event.call == "sendrecv";
}

bool is_collective(const TraceEvent& event) {
    return !is_sending(event) && !is_receiving(event) && event.call != "wait" && event.call != "other";
}

bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

class Walk {
  public:
    Walk(const std::vector<RankTrace>& traces, std::int64_t eager_bytes)
        : traces_(traces), eager_bytes_(eager_bytes) {
        for (const RankTrace& trace : traces) {
            Progress& own = ranks_.emplace_back();
            own.is_sent.resize(trace.events.size());
            own.is_received.resize(trace.events.size());
            own.meeting.resize(trace.events.size());
            for (const Communicator& group : trace.groups)
                own.groups.push_back(
                    numbers_.try_emplace(group, static_cast<int>(numbers_.size())).first->second);
        }
    }

    std::string run() {
        // One event a round: a rank that only sends does not run ahead of its receivers, whose mailboxes stay
        // short.
        for (bool is_going = true; is_going && wrong_.empty();) {
            is_going = false;
            for (int rank = 0; rank < num_ranks(); ++rank) is_going = advance(rank) || is_going;
        }
        if (wrong_.empty()) wrong_ = what_waits();
        if (wrong_.empty()) wrong_ = what_is_left();
        return wrong_.empty() ? "" : wrong_ + ": " + why();
    }

  private:
    struct Progress {
        std::size_t at = 0;  ///< the event that the rank is in
        bool has_begun = false;
        std::vector<bool> is_sent, is_received;  ///< by event: its message or receive has met the other half
        std::vector<Meeting*> meeting;           ///< by event
        std::vector<int> groups;                 ///< by number in the rank's trace: one number for all ranks
        std::map<int, int> num_collectives;      ///< by group
    };

    [[nodiscard]] int num_ranks() const { return static_cast<int>(ranks_.size()); }
    [[nodiscard]] const RankTrace& trace(int rank) const { return traces_[static_cast<std::size_t>(rank)]; }
    Progress& progress(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] const Progress& progress(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] const std::vector<int>& members(int rank, const TraceEvent& event) const {
        return trace(rank).groups[static_cast<std::size_t>(event.group)].ranks;
    }
    [[nodiscard]] bool has_ended(int rank) const { return progress(rank).at == trace(rank).events.size(); }

    bool advance(int rank) {
        Progress& own = progress(rank);
        if (has_ended(rank) || !wrong_.empty()) return false;
        if (!std::exchange(own.has_begun, true)) begin(rank, own.at);
        if (first_waited(rank, own.at)) return false;
        own.has_begun = false;
        ++own.at;
        return true;
    }

    /// Carries out what the replay does at once: it hands MPI a message, a receive, or its part in a
    /// collective.
    void begin(int rank, std::size_t number) {
        const TraceEvent& event = trace(rank).events[number];
        if (event.call == "wait" || event.call == "other" || !contains(members(rank, event), rank)) return;
        if (is_collective(event)) return come(rank, number);
        const bool is_both = event.call == "sendrecv";
        // Who is not in the communicator is nobody to the replay, too; without a tag nothing is sent.
        if (is_receiving(event)) {
            const int source = is_both ? event.source : event.partner;
            if (source == -1 || contains(members(rank, event), source))
                receive(rank, number, {rank, number, source, is_both ? event.receive_tag : event.tag});
            else
                progress(rank).is_received[number] = true;
        }
        if (is_sending(event)) {
            if (event.tag >= 0 && contains(members(rank, event), event.partner))
                send(rank, number, event);
            else
                progress(rank).is_sent[number] = true;
        }
    }

    Mailbox& mailbox(int rank, int sender, const TraceEvent& event) {
        return mailboxes_[{progress(sender).groups[static_cast<std::size_t>(event.group)], rank}];
    }

    void send(int rank, std::size_t number, const TraceEvent& event) {
        const Half message{rank, number, rank, event.tag};
        Mailbox& box = mailbox(event.partner, rank, event);
        const auto found = std::find_if(box.receives.begin(), box.receives.end(),
                                        [&](const Half& receive) { return is_met_by(receive, message); });
        if (found == box.receives.end()) return box.messages.push_back(message);
        progress(rank).is_sent[number] = progress(found->rank).is_received[found->event] = true;
        box.receives.erase(found);
    }

    void receive(int rank, std::size_t number, const Half& receive) {
        Mailbox& box = mailbox(rank, rank, trace(rank).events[number]);
        const auto found = std::find_if(box.messages.begin(), box.messages.end(),
                                        [&](const Half& message) { return is_met_by(receive, message); });
        if (found == box.messages.end()) return box.receives.push_back(receive);
        progress(rank).is_received[number] = progress(found->rank).is_sent[found->event] = true;
        box.messages.erase(found);
    }

    void come(int rank, std::size_t number) {
        const TraceEvent& event = trace(rank).events[number];
        const int group = progress(rank).groups[static_cast<std::size_t>(event.group)];
        Meeting& meeting = meetings_[{group, progress(rank).num_collectives[group]++}];
        progress(rank).meeting[number] = &meeting;
        if (meeting.came.empty()) {
            meeting.rank = rank;
            meeting.event = number;
        }
        meeting.came.insert(rank);
        const TraceEvent& first = trace(meeting.rank).events[meeting.event];
        if (event.call != first.call || event.partner != first.partner || event.bytes != first.bytes)
            wrong_ = name(rank, number) + " meets " + name(meeting.rank, meeting.event);
    }

    /// Those of a collective's members who have not come though it needs them.
    [[nodiscard]] std::vector<int> missing(int rank, std::size_t number) const {
        const TraceEvent& event = trace(rank).events[number];
        const Meeting* const meeting = progress(rank).meeting[number];
        if (meeting == nullptr || meeting->came.size() == members(rank, event).size()) return {};
        const bool is_from_root = event.call == "bcast" || event.call == "scatter";
        const bool is_to_root = event.call == "reduce" || event.call == "gather";
        const bool is_held = event.bytes > eager_bytes_;
        std::vector<int> result;
        for (int member : members(rank, event)) {
            const bool is_needed =
                is_held || (is_from_root ? member == event.partner : !is_to_root || rank == event.partner);
            if (is_needed && !meeting->came.contains(member)) result.push_back(member);
        }
        return result;
    }

    [[nodiscard]] bool is_held(int rank, std::size_t number) const {
        const TraceEvent& event = trace(rank).events[number];
        return is_sending(event) && event.bytes > eager_bytes_ && !progress(rank).is_sent[number];
    }
    [[nodiscard]] bool is_unmet(int rank, std::size_t number) const {
        return is_receiving(trace(rank).events[number]) && !progress(rank).is_received[number];
    }

    /// The event for which the rank waits in its event `number`: itself, or one that a wait names; none: it
    /// goes on.
    [[nodiscard]] std::optional<std::size_t> first_waited(int rank, std::size_t number) const {
        const TraceEvent& event = trace(rank).events[number];
        for (std::int64_t request : event.requests) {
            const auto made = static_cast<std::size_t>(request);
            if (is_held(rank, made) || is_unmet(rank, made)) return made;
        }
        const bool is_blocking = event.call == "send" || event.call == "receive" || event.call == "sendrecv";
        if (is_blocking && (is_held(rank, number) || is_unmet(rank, number))) return number;
        if (is_collective(event) && !missing(rank, number).empty()) return number;
        return std::nullopt;
    }

    /// One rank that waits for ever, by choice for one that has ended: of others, it may be to blame.
    [[nodiscard]] std::string what_waits() const {
        std::string result;
        for (int rank = 0; rank < num_ranks(); ++rank) {
            if (has_ended(rank)) continue;
            const std::size_t waited = *first_waited(rank, progress(rank).at);
            const TraceEvent& event = trace(rank).events[waited];
            std::vector<int> partners{event.call == "sendrecv" && is_unmet(rank, waited) ? event.source
                                                                                         : event.partner};
            if (is_collective(event)) partners = missing(rank, waited);
            const auto ended = std::find_if(partners.begin(), partners.end(),
                                            [&](int partner) { return partner >= 0 && has_ended(partner); });
            if (ended == partners.end() && !result.empty()) continue;
            result = name(rank, waited) + " waits for ever";
            if (is_collective(event)) {
                const int lacking = ended == partners.end() ? partners.front() : *ended;
                result += " for rank " + std::to_string(lacking);
            } else {
                result += is_unmet(rank, waited) ? " for its message" : " for its receive";
            }
            if (ended != partners.end()) return result;
        }
        return result;
    }

    [[nodiscard]] std::string what_is_left() const {
        for (const auto& [key, box] : mailboxes_) {
            if (!box.messages.empty())
                return name(box.messages.front().rank, box.messages.front().event) + " is received by nobody";
        }
        for (const auto& [key, meeting] : meetings_) {
            const TraceEvent& event = trace(meeting.rank).events[meeting.event];
            for (int member : members(meeting.rank, event)) {
                if (!meeting.came.contains(member))
                    return name(meeting.rank, meeting.event) + " lacks rank " + std::to_string(member);
            }
        }
        return "";
    }

    [[nodiscard]] std::string name(int rank, std::size_t number) const {
        const TraceEvent& event = trace(rank).events[number];
        std::string text = "rank " + std::to_string(rank) + "'s event " + std::to_string(number) + " (" +
                           event.call + " of " + std::to_string(event.bytes) + " bytes";
        if (event.partner >= 0) text += ", rank " + std::to_string(event.partner);
        if (event.tag >= 0) text += ", tag " + std::to_string(event.tag);
        return text + ")";
    }

    /// Says what made the trace so.
    [[nodiscard]] std::string why() const {
        std::int64_t num_dropped = 0;
        bool is_overlapping = false;
        std::set<std::string> names;
        for (const RankTrace& trace : traces_) {
            num_dropped += trace.num_dropped;
            names.insert(trace.not_replayed.begin(), trace.not_replayed.end());
            for (std::size_t i = 1; i < trace.events.size(); ++i)
                is_overlapping = is_overlapping || trace.events[i].begin_s < trace.events[i - 1].end_s;
        }
        if (num_dropped > 0)
            return std::to_string(num_dropped) + " calls did not fit the recorder (HAKOBI_RECORD_EVENTS)";
        if (is_overlapping)
            return "several threads communicated at once, and one cannot do that again in their order";
        std::string named;
        for (const std::string& name : names) named += (named.empty() ? " (" : ", ") + name;
        return "the trace is cut off, or lacks the messages of calls that are not recorded" +
               (named.empty() ? "" : named + ")");
    }

    const std::vector<RankTrace>& traces_;
    const std::int64_t eager_bytes_;
    std::vector<Progress> ranks_;
    std::map<Communicator, int> numbers_;
    std::map<std::pair<int, int>, Mailbox> mailboxes_;  ///< by group and receiving rank
    std::map<std::pair<int, int>, Meeting> meetings_;   ///< by group and number of the collective
    std::string wrong_;
};

}  // namespace

std::string why_it_hangs(const std::vector<RankTrace>& ranks, std::int64_t eager_bytes) {
    return Walk(ranks, eager_bytes).run();
}

}  // namespace hakobi::bench
