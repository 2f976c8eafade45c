#include "store/catalogue.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "store/pack.hpp"

namespace hakobi::store {

std::uint32_t Dictionary::code_of(std::string_view value) {
    if (const auto found = codes_.find(value); found != codes_.end()) return found->second;
    const std::uint32_t code = num_values();
    values_.emplace_back(value);
    codes_.emplace(value, code);
    return code;
}

std::uint32_t Dictionary::find(std::string_view value) const {
    const auto found = codes_.find(value);
    return found != codes_.end() ? found->second : num_values();
}

void Dictionary::rank() {
    if (ranks_.size() == values_.size()) return;
    std::vector<std::uint32_t> sorted(values_.size());
    std::iota(sorted.begin(), sorted.end(), 0U);
    std::ranges::sort(sorted,
                      [&](std::uint32_t a, std::uint32_t b) { return value_less(values_[a], values_[b]); });
    ranks_.resize(values_.size());
    for (std::uint32_t place = 0; place < sorted.size(); ++place) ranks_[sorted[place]] = place;
}

int Group::compare(std::uint32_t row, std::uint32_t other) const {
    for (std::size_t k = 0; k < num_keywords(); ++k) {
        const std::uint32_t a = rows.codes[row * num_keywords() + k],
                            b = rows.codes[other * num_keywords() + k];
        if (a == b) continue;
        return dictionaries[k].ranks()[a] < dictionaries[k].ranks()[b] ? -1 : 1;
    }
    return 0;
}

void Group::sort() {
    const std::size_t num_rows = rows.num_rows();
    if (order.size() == num_rows) return;
    unsigned num_bits = 0;
    for (Dictionary& dictionary : dictionaries) {
        dictionary.rank();
        num_bits += static_cast<unsigned>(std::bit_width(dictionary.num_values()));
    }
    const auto latest_first = [&](std::uint32_t a, std::uint32_t b) {
        if (rows.stamps[a] != rows.stamps[b]) return rows.stamps[a] > rows.stamps[b];
        return a > b;
    };
    const std::size_t begin = order.size();
    if (begin == 0 && num_sorted > 0) {
        order.resize(num_sorted);
        std::iota(order.begin(), order.end(), 0U);
    }
    const std::size_t middle = order.size();
    if (num_bits <= 64) {
        // One number a row sorts several times faster than its codes.
        struct Entry {
            std::uint64_t key;
            std::uint32_t row;
        };
        std::vector<Entry> entries(num_rows - middle);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const std::size_t row = middle + i;
            std::uint64_t key = 0;
            for (std::size_t k = 0; k < num_keywords(); ++k) {
                const auto width = static_cast<unsigned>(std::bit_width(dictionaries[k].num_values()));
                key = (width < 64 ? key << width : 0) |
                      dictionaries[k].ranks()[rows.codes[row * num_keywords() + k]];
            }
            entries[i] = {key, static_cast<std::uint32_t>(row)};
        }
        const auto less = [&](const Entry& a, const Entry& b) {
            return a.key != b.key ? a.key < b.key : latest_first(a.row, b.row);
        };
        if (!std::ranges::is_sorted(entries, less)) std::ranges::sort(entries, less);
        for (const Entry& entry : entries) order.push_back(entry.row);
    } else {
        order.resize(num_rows);
        std::iota(order.begin() + static_cast<std::ptrdiff_t>(middle), order.end(),
                  static_cast<std::uint32_t>(middle));
    }
    const auto less = [&](std::uint32_t a, std::uint32_t b) {
        const int compared = compare(a, b);
        return compared != 0 ? compared < 0 : latest_first(a, b);
    };
    const auto split = order.begin() + static_cast<std::ptrdiff_t>(middle);
    if (num_bits > 64) std::sort(split, order.end(), less);
    std::inplace_merge(order.begin(), split, order.end(), less);
}

std::string identity_of(const GroupName& name) {
    Packer packer;
    pack_group_name(name, packer);
    return {reinterpret_cast<const char*>(packer.bytes().data()), packer.bytes().size()};
}

std::string identity_of(const SplitKey& key) {
    Packer packer;
    pack_group_name(key, packer);
    return {reinterpret_cast<const char*>(packer.bytes().data()), packer.bytes().size()};
}

namespace {

/// A rule of the schema that has keywords which a group's fields never have: those, and which of theirs it
/// lacks.
struct OtherRule {
    std::vector<std::string> adds, lacks;
    friend bool operator==(const OtherRule&, const OtherRule&) = default;
};
std::vector<OtherRule> other_rules(const GroupName& name,
                                   const std::vector<std::vector<std::string>>& rules) {
    std::vector<std::string> own;
    for (const auto& level : name.keywords) {
        for (const Keyword& keyword : level) own.push_back(keyword.name);
    }
    const auto without = [](const std::vector<std::string>& words, const std::vector<std::string>& others) {
        std::vector<std::string> left;
        std::ranges::copy_if(words, std::back_inserter(left), [&](const std::string& word) {
            return std::ranges::find(others, word) == others.end();
        });
        return left;
    };
    std::vector<OtherRule> found;
    for (const auto& rule : rules) {
        OtherRule other{.adds = without(rule, own), .lacks = without(own, rule)};
        if (!other.adds.empty() && std::ranges::find(found, other) == found.end()) {
            found.push_back(std::move(other));
        }
    }
    return found;
}

Group::KeyText key_text(const GroupName& name, const std::vector<std::vector<std::string>>& rules) {
    Group::KeyText text;
    // A keyword that stands in several levels is told once, by the last.
    const auto stands_below = [&](std::size_t level, const std::string& keyword) {
        for (++level; level < num_levels; ++level) {
            if (std::ranges::find(name.keywords[level], keyword, &Keyword::name) !=
                name.keywords[level].end())
                return true;
        }
        return false;
    };
    for (std::size_t level = 0; level < field_level; ++level) {
        for (std::size_t k = 0; k < name.keywords[level].size(); ++k) {
            const std::string& keyword = name.keywords[level][k].name;
            if (stands_below(level, keyword)) continue;
            if (name.values[level][k].empty()) {
                text.upper_empty.push_back(keyword);
            } else {
                text.upper += (text.upper.empty() ? "" : ",") + keyword + "=" + name.values[level][k];
            }
        }
    }
    for (const Keyword& keyword : name.keywords[field_level]) text.keywords.push_back(keyword.name + "=");
    for (const OtherRule& rule : other_rules(name, rules)) {
        Group::KeyText::Addition addition;
        bool never_applies = false;
        for (std::size_t level = 0; level < num_levels; ++level) {
            for (std::size_t k = 0; k < name.keywords[level].size(); ++k) {
                if (std::ranges::find(rule.lacks, name.keywords[level][k].name) == rule.lacks.end()) continue;
                if (level == field_level) addition.unless.push_back(k);
                if (level < field_level && !name.values[level][k].empty()) never_applies = true;
            }
        }
        addition.adds = rule.adds;
        if (!never_applies) text.additions.push_back(std::move(addition));
    }
    return text;
}

}  // namespace

Group& Catalogue::group(const GroupName& name) {
    const auto [entry, is_new] =
        group_numbers.emplace(identity_of(name), static_cast<std::uint32_t>(groups.size()));
    if (is_new) {
        groups.push_back(std::make_unique<Group>());
        groups.back()->name = name;
        groups.back()->dictionaries.resize(name.keywords[field_level].size());
        groups.back()->key_text = key_text(name, rules);
    }
    return *groups[entry->second];
}

std::int64_t Catalogue::num_rows() const {
    std::int64_t count = 0;
    for (const auto& group : groups) count += static_cast<std::int64_t>(group->rows.num_rows());
    return count;
}

std::vector<std::uint32_t> Catalogue::group_order() const {
    std::vector<std::uint32_t> sorted(groups.size());
    std::iota(sorted.begin(), sorted.end(), 0U);
    std::ranges::sort(sorted, [&](std::uint32_t a, std::uint32_t b) {
        for (std::size_t level = 0; level < field_level; ++level) {
            const auto& first = groups[a]->name.values[level];
            const auto& second = groups[b]->name.values[level];
            const auto [x, y] = std::ranges::mismatch(first, second);
            if (x != first.end() && y != second.end()) return value_less(*x, *y);
            if (first.size() != second.size()) return first.size() < second.size();
        }
        return a < b;
    });
    return sorted;
}

void Catalogue::sort() {
    for (const auto& group : groups) group->sort();
}

void add_rows(Catalogue& catalogue, const GroupRows& rows, std::uint32_t file, std::int64_t stamp_ns,
              const std::set<std::int64_t>& wiped) {
    const auto is_left = [&](std::int64_t offset) { return wiped.empty() || !wiped.contains(offset); };
    if (std::ranges::none_of(rows.offsets, is_left)) return;
    Group& group = catalogue.group(rows.name);
    const std::size_t num_keywords = group.num_keywords();
    // A value that only wiped fields have is none of the group's.
    constexpr auto unknown = std::numeric_limits<std::uint32_t>::max();
    const auto code_of = [](Dictionary& dictionary, std::uint32_t& code, std::string_view value) {
        if (code == unknown) code = dictionary.code_of(value);
        return code;
    };
    std::vector<std::vector<std::uint32_t>> codes;
    for (const auto& dictionary : rows.dictionaries) codes.emplace_back(dictionary.size(), unknown);
    std::vector<std::uint32_t> forms(rows.forms.size(), unknown);
    Columns& columns = group.rows;
    for (std::size_t row = 0; row < rows.num_rows(); ++row) {
        if (!is_left(rows.offsets[row])) continue;
        for (std::size_t k = 0; k < num_keywords; ++k) {
            const std::uint32_t value = rows.codes[row * num_keywords + k];
            columns.codes.push_back(
                code_of(group.dictionaries[k], codes[k][value], rows.dictionaries[k][value]));
        }
        const std::uint32_t form = rows.form_codes[row];
        columns.forms.push_back(code_of(group.forms, forms[form], rows.forms[form]));
        columns.files.push_back(file);
        columns.offsets.push_back(rows.offsets[row]);
        columns.lengths.push_back(rows.lengths[row]);
        columns.stamps.push_back(stamp_ns);
        columns.checksums.push_back(rows.checksums[row]);
    }
}

}  // namespace hakobi::store
