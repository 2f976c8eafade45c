#include "losses.hpp"

#include <algorithm>
#include <limits>

namespace hakobi::test {
namespace {

constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

bool is_data(Kind kind) {
    return kind == Kind::write || kind == Kind::truncate;
}

/// Whether a sync brings a change to storage that was made before it. A rename is one transaction: with
/// either folder it is there.
bool stores(const Disk::Change& sync, const Disk::Change& change) {
    const Kind kind = change.operation->kind;
    if (sync.operation->kind == Kind::sync_file) return is_data(kind) && change.node == sync.node;
    if (sync.operation->kind != Kind::sync_folder || is_data(kind)) return false;
    return change.folder == sync.node || change.to_folder == sync.node;
}

bool is_objects(Kind kind) {
    return kind == Kind::put || kind == Kind::remove_object;
}

bool is_change(Kind kind) {
    return kind < Kind::sync_file;
}

}  // namespace

Trace::Trace(Disk start, const std::vector<Operation>& operations) : start_(std::move(start)) {
    add(start_, operations);
}

void Trace::go_on(std::size_t prefix, Disk disk, const std::vector<Operation>& more) {
    changes_.resize(prefix);
    add(std::move(disk), more);
}

void Trace::add(Disk disk, const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
        std::optional<Disk::Change> change = disk.resolve(operation);
        if (change) disk.apply(*change);
        if (!change && !is_note(operation.kind)) ++num_impossible_;
        if (!change) change = Disk::Change{.name = {}, .to_name = {}};
        changes_.push_back(std::move(*change));
    }
    stored_at_.assign(changes_.size(), never);
    // A server's answer says that it is stable.
    for (std::size_t at = 0; at < changes_.size(); ++at)
        if (changes_[at].operation != nullptr && is_objects(changes_[at].operation->kind))
            stored_at_[at] = at;
    for (std::size_t sync = 0; sync < changes_.size(); ++sync) {
        if (changes_[sync].operation == nullptr) continue;
        for (std::size_t at = 0; at < sync; ++at) {
            if (changes_[at].operation != nullptr && stored_at_[at] == never &&
                stores(changes_[sync], changes_[at]))
                stored_at_[at] = sync;
        }
    }
}

bool Trace::is_write(std::size_t at) const {
    return changes_[at].operation->kind == Kind::write;
}

Disk Trace::disk(std::size_t prefix, const Parts& parts) const {
    Disk disk = start_;
    for (std::size_t at = 0; at < prefix; ++at) {
        if (changes_[at].operation == nullptr) continue;
        const auto part = parts.find(at);
        disk.apply(changes_[at], part == parts.end() ? Disk::Part::all : part->second);
    }
    return disk;
}

std::vector<std::size_t> Trace::pending(std::size_t prefix) const {
    std::vector<std::size_t> all;
    for (std::size_t at = 0; at < prefix; ++at) {
        const Operation* const operation = changes_[at].operation;
        if (operation != nullptr && is_change(operation->kind) && stored_at_[at] >= prefix) all.push_back(at);
    }
    return all;
}

std::vector<Trace::Parts> Trace::losses(std::size_t prefix, std::size_t most, std::mt19937_64& random) const {
    const std::vector<std::size_t> all = pending(prefix);
    std::vector<Parts> found;
    constexpr std::size_t most_exhaustive = 16;
    if (all.size() < most_exhaustive && (std::size_t{1} << all.size()) <= most + 1) {
        for (std::size_t set = 1; set < (std::size_t{1} << all.size()); ++set) {
            Parts parts;
            for (std::size_t i = 0; i < all.size(); ++i)
                if ((set >> i & 1) != 0) parts[all[i]] = Disk::Part::none;
            found.push_back(std::move(parts));
        }
        return found;
    }
    const auto add_all = [&](const auto& is_lost) {
        Parts parts;
        for (const std::size_t at : all)
            if (is_lost(at)) parts[at] = Disk::Part::none;
        if (!parts.empty()) found.push_back(std::move(parts));
    };
    add_all([](std::size_t) { return true; });
    add_all([&](std::size_t at) { return is_data(changes_[at].operation->kind); });
    add_all([&](std::size_t at) { return !is_data(changes_[at].operation->kind); });
    std::vector<Parts> more;
    for (const std::size_t at : all) {
        more.push_back({{at, Disk::Part::none}});
        if (!is_write(at)) continue;
        more.push_back({{at, Disk::Part::half}});
        more.push_back({{at, Disk::Part::room}});
    }
    std::ranges::shuffle(more, random);
    std::ranges::move(more, std::back_inserter(found));
    if (found.size() < most) {
        more.clear();
        for (std::size_t a = 0; a < all.size(); ++a) {
            for (std::size_t b = 0; b < a; ++b)
                more.push_back({{all[a], Disk::Part::none}, {all[b], Disk::Part::none}});
        }
        std::ranges::shuffle(more, random);
        std::ranges::move(more, std::back_inserter(found));
    }
    constexpr std::size_t num_parts = 4;
    for (std::size_t tries = 0; found.size() < most && tries < most && !all.empty(); ++tries) {
        Parts parts;
        for (const std::size_t at : all) {
            const auto part = static_cast<Disk::Part>(random() % num_parts);
            if (part != Disk::Part::all) parts[at] = is_write(at) ? part : Disk::Part::none;
        }
        found.push_back(std::move(parts));
    }
    if (found.size() > most) found.resize(most);
    return found;
}

}  // namespace hakobi::test
