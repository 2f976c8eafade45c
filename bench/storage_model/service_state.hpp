#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

#include "storage_model/service_model.hpp"

namespace hakobi::storage {

// The way between a process and the servers. A write, in steps:
//  1. Each lock that covers bytes of it comes to its node. A lock is of one file, object and `lock_bytes` of
//     that object; a node that has it keeps it until another one asks, who gets it when the holder's accesses
//     under it are over and `lock_move` has passed. Many nodes may read under one lock. The locks of a
//     request move side by side; the servers serve others meanwhile.
//  2. Its node's link, then the network, then the server take the stripes one by one. Each serves what comes
//     in the order in which it comes; a stripe goes on when it has passed the one before, so that those of a
//     request follow each other.
//  3. The request is complete when its last stripe is, and the server's latency has passed.
// A read goes the other way: servers first.

/// A lock's holder: nobody, one node that writes or reads, or several that read. Entries are found by a hash
/// and forget when another lock takes the place: its next use is free.
struct LockUnit {
    std::atomic<std::uint64_t> holder;
    std::atomic<std::int64_t> used_until_ns;
};

/// The state of a file: its layout where somebody has set it, and whether the stalled server has stalled for
/// it.
struct FileEntry {
    std::atomic<std::uint64_t> identity;  ///< 0: free
    std::atomic<std::uint64_t> layout;    ///< packed; 0: none has been set
    std::atomic<std::uint32_t> has_stalled;
};

/// In memory that all processes map; fresh zeros are a valid state. Its updates are lock-free.
struct ServiceState {
    static constexpr std::size_t num_lock_units = 1 << 16, num_files = 1 << 12;

    std::array<Server, ServiceModel::max_servers> servers;
    std::array<std::atomic<std::int64_t>, ServiceModel::max_nodes> links;  ///< free_ns of each node's
    std::atomic<std::int64_t> network;                                     ///< free_ns
    std::array<LockUnit, num_lock_units> locks;
    std::array<FileEntry, num_files> files;

    /// The file's entry: its own, or one that it takes. Where all are taken the file that hashes there first
    /// loses its.
    [[nodiscard]] FileEntry& entry_of(std::uint64_t identity);
    /// The same; null where the file has none.
    [[nodiscard]] FileEntry* find(std::uint64_t identity);
    /// As it was set, else the model's.
    [[nodiscard]] FileStriping striping_of(const ServiceModel& model, std::uint64_t identity);
};

/// A layout in one word: stripes of a multiple of 64 KiB below 2^16 of them, as Lustre has them.
constexpr std::int64_t stripe_unit_bytes = 65536;
[[nodiscard]] constexpr std::uint64_t packed(const FileStriping& striping) {
    return std::uint64_t{1} << 63 | static_cast<std::uint64_t>(striping.first_server) << 44 |
           static_cast<std::uint64_t>(striping.num_stripes) << 24 |
           static_cast<std::uint64_t>(striping.stripe_bytes / stripe_unit_bytes);
}
[[nodiscard]] constexpr FileStriping unpacked(std::uint64_t word) {
    return {static_cast<std::int64_t>(word & 0xffffff) * stripe_unit_bytes,
            static_cast<int>(word >> 24 & 0xfffff), static_cast<int>(word >> 44 & 0xffff)};
}
/// Made to be laid out: the first write, or the layout that is set, ends that.
constexpr std::uint64_t waits_for_layout = 1;

struct ServiceRequest {
    std::uint64_t identity = 0;
    int node = 0;
    bool is_write = false;
    std::int64_t arrival_ns = 0, offset = 0, length = 0;
};

namespace service {

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27) * 0x94d049bb133111ebU;
    return value ^ value >> 31;
}

constexpr std::uint64_t nobody = 0, several = 0xffff;

/// Who holds the lock after `node` has asked; whether it has to move. 16 bits of node, 1 of writing, 47 of
/// the lock's name.
struct Grant {
    std::uint64_t holder;
    bool is_moved;
};
[[nodiscard]] constexpr Grant granted(std::uint64_t held, std::uint64_t name, int node, bool is_write) {
    const std::uint64_t asker = static_cast<std::uint64_t>(node) + 1;
    const auto holder_of = [name](std::uint64_t who, bool writes) {
        return name << 17 | (writes ? 1U : 0U) << 16 | who;
    };
    if (held >> 17 != name || (held & 0xffff) == nobody) return {holder_of(asker, is_write), false};
    const std::uint64_t who = held & 0xffff;
    const bool writes = (held >> 16 & 1) != 0;
    if (who == asker) return {holder_of(asker, writes || is_write), false};
    if (!is_write && !writes) return {holder_of(several, false), false};
    return {holder_of(asker, is_write), true};
}

}  // namespace service

inline FileEntry* ServiceState::find(std::uint64_t identity) {
    for (std::size_t i = 0; i < 64; ++i) {
        FileEntry& entry = files[(service::mixed(identity) + i) % num_files];
        const std::uint64_t known = entry.identity.load(std::memory_order_acquire);
        if (known == identity) return &entry;
        if (known == 0) return nullptr;
    }
    return nullptr;
}

inline FileEntry& ServiceState::entry_of(std::uint64_t identity) {
    const std::uint64_t home = service::mixed(identity);
    for (std::size_t i = 0; i < 64; ++i) {
        FileEntry& entry = files[(home + i) % num_files];
        std::uint64_t known = 0;
        if (entry.identity.compare_exchange_strong(known, identity) || known == identity) return entry;
    }
    FileEntry& entry = files[home % num_files];
    entry.layout = 0;
    entry.has_stalled = 0;
    entry.identity = identity;
    return entry;
}

inline FileStriping ServiceState::striping_of(const ServiceModel& model, std::uint64_t identity) {
    if (!model.has_layouts()) return FileStriping::whole(model);
    const FileEntry* const entry = find(identity);
    const std::uint64_t word = entry == nullptr ? 0 : entry->layout.load();
    if (word > waits_for_layout) return unpacked(word);
    return {model.stripe_bytes, model.num_stripes,
            static_cast<int>(service::mixed(identity) % static_cast<std::uint64_t>(model.num_servers))};
}

/// One request's way to the servers and back.
class Passage {
  public:
    Passage(const ServiceModel& model, ServiceState& state, const ServiceRequest& request,
            std::vector<Served>* log = nullptr)
        : model_(model),
          state_(state),
          request_(request),
          log_(log),
          striping_(state.striping_of(model, request.identity)) {}

    /// Whether `run` sleeps on the way; else it returns at once.
    [[nodiscard]] static bool has_stops(const ServiceModel& model) {
        return model.lock_bytes > 0 || model.client_mb_s > 0 || model.network_mb_s > 0;
    }

    /// Returns when the model completes the request, which the caller waits for. `sleep_until(ns)` on the
    /// way.
    template <class Sleep>
    std::int64_t run(Sleep sleep_until) {
        if (request_.length <= 0) return request_.arrival_ns + model_.latency_ns;
        std::int64_t now_ns = request_.arrival_ns;
        if (model_.stalled_server >= 0) stall(now_ns);
        if (model_.lock_bytes > 0) {
            now_ns = std::max(now_ns, lock(now_ns));
            sleep_until(now_ns);
        }
        std::int64_t end_ns = 0;
        if (model_.client_mb_s <= 0 && model_.network_mb_s <= 0) {
            end_ns = serve(now_ns, request_.offset, request_.length);
        } else if (request_.is_write) {
            for_each_stripe([&](std::int64_t offset, std::int64_t length) {
                const auto [left_ns, arrived_ns] = cross(now_ns, length);
                end_ns = std::max(end_ns, serve(arrived_ns, offset, length));
                sleep_until(now_ns = left_ns);
            });
        } else {
            for_each_stripe([&](std::int64_t offset, std::int64_t length) {
                // All are asked for at once; the answers come over the link one by one.
                const std::int64_t served_ns = serve(request_.arrival_ns, offset, length);
                sleep_until(now_ns = std::max(now_ns, served_ns - model_.latency_ns));
                end_ns = std::max({end_ns, served_ns, cross(now_ns, length).second + model_.latency_ns});
            });
        }
        if (model_.lock_bytes > 0)
            for_each_lock([&](LockUnit& unit, std::uint64_t) { raise(unit.used_until_ns, end_ns); });
        return end_ns;
    }

  private:
    /// A client sends at most so much at once.
    static constexpr std::int64_t most_bytes_of_message = 1 << 20;

    std::int64_t serve(std::int64_t now_ns, std::int64_t offset, std::int64_t length) {
        return queue_request(model_, state_.servers, request_.identity, striping_, now_ns, offset, length,
                             request_.is_write, log_);
    }

    /// When `length` bytes have left the node's link, and when they have passed the network too.
    std::pair<std::int64_t, std::int64_t> cross(std::int64_t now_ns, std::int64_t length) {
        std::int64_t left_ns = now_ns;
        if (model_.client_mb_s > 0)
            left_ns = take_turn(state_.links[static_cast<std::size_t>(request_.node)], now_ns,
                                transfer_ns(length, model_.client_mb_s));
        if (model_.network_mb_s <= 0) return {left_ns, left_ns};
        return {left_ns, take_turn(state_.network, left_ns, transfer_ns(length, model_.network_mb_s))};
    }

    template <class Each>
    void for_each_stripe(Each each) {
        const std::int64_t end = request_.offset + request_.length;
        for (std::int64_t at = request_.offset; at < end;) {
            const std::int64_t stripe_end = (at / striping_.stripe_bytes + 1) * striping_.stripe_bytes;
            const std::int64_t to = std::min({end, stripe_end, at + most_bytes_of_message});
            each(at, to - at);
            at = to;
        }
    }

    template <class Each>
    void for_each_lock(Each each) {
        for (int object = 0; object < striping_.num_stripes; ++object) {
            const std::int64_t begin = striping_.bytes_in_object(request_.offset, object);
            const std::int64_t end = striping_.bytes_in_object(request_.offset + request_.length, object);
            if (begin == end) continue;
            for (std::int64_t unit = begin / model_.lock_bytes; unit <= (end - 1) / model_.lock_bytes;
                 ++unit) {
                const std::uint64_t name =
                    service::mixed(service::mixed(request_.identity + static_cast<std::uint64_t>(object)) +
                                   static_cast<std::uint64_t>(unit));
                each(state_.locks[name % ServiceState::num_lock_units], name >> 17);
            }
        }
    }

    /// When all locks of the request are here.
    std::int64_t lock(std::int64_t now_ns) {
        std::int64_t all_ns = now_ns;
        for_each_lock([&](LockUnit& unit, std::uint64_t name) {
            std::uint64_t held = unit.holder.load();
            service::Grant grant{};
            do {
                grant = service::granted(held, name, request_.node, request_.is_write);
            } while (held != grant.holder && !unit.holder.compare_exchange_weak(held, grant.holder));
            if (!grant.is_moved) return;
            const std::int64_t here_ns = std::max(now_ns, unit.used_until_ns.load()) + model_.lock_move_ns;
            raise(unit.used_until_ns, here_ns);  // who asks next waits behind this one
            all_ns = std::max(all_ns, here_ns);
        });
        return all_ns;
    }

    void stall(std::int64_t now_ns) {
        for (int object = 0; object < striping_.num_stripes; ++object) {
            if (striping_.server_of(object, model_) != model_.stalled_server) continue;
            if (striping_.bytes_in_object(request_.offset, object) ==
                striping_.bytes_in_object(request_.offset + request_.length, object))
                continue;
            if (state_.entry_of(request_.identity).has_stalled.exchange(1) != 0) return;
            take_turn(state_.servers[static_cast<std::size_t>(model_.stalled_server)].free_ns, now_ns,
                      model_.stall_ns);
        }
    }

    static void raise(std::atomic<std::int64_t>& value, std::int64_t to) {
        std::int64_t seen = value.load();
        while (seen < to && !value.compare_exchange_weak(seen, to)) {
        }
    }

    const ServiceModel& model_;
    ServiceState& state_;
    const ServiceRequest& request_;
    std::vector<Served>* log_;
    FileStriping striping_;
};

}  // namespace hakobi::storage
