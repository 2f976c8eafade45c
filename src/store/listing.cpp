#include "store/listing.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <tuple>

#include "store/pack.hpp"

namespace hakobi {

namespace store {

namespace {

struct Entry {
    RowReference reference;
    bool is_replaced = false;
};

void select_in_group(const Group& group, std::uint32_t number, const std::vector<std::vector<bool>>& wanted,
                     bool with_replaced, std::vector<Entry>& entries) {
    const std::size_t num_keywords = group.num_keywords();
    std::vector<std::size_t> limited;
    for (std::size_t k = 0; k < num_keywords; ++k) {
        if (!wanted[k].empty()) limited.push_back(k);
    }
    for (std::size_t i = 0; i < group.order.size(); ++i) {
        const std::uint32_t row = group.order[i];
        const std::uint32_t* const codes = group.rows.codes.data() + row * num_keywords;
        if (!std::ranges::all_of(limited, [&](std::size_t k) { return bool{wanted[k][codes[k]]}; })) continue;
        const bool is_replaced = i > 0 && group.compare(group.order[i - 1], row) == 0;
        if (is_replaced && !with_replaced) continue;
        entries.push_back({{number, row}, is_replaced});
    }
}

}  // namespace

std::shared_ptr<const Listing::Impl> select(std::shared_ptr<const Catalogue> catalogue,
                                            const Request& request, const Selection& selection) {
    const std::shared_lock lock(catalogue->mutex);
    if (selection.is_strict) request.check_values(*catalogue).throw_if_error();
    std::vector<Entry> entries;
    std::vector<std::vector<bool>> wanted;
    for (const std::uint32_t number : catalogue->group_order()) {
        const Group& group = *catalogue->groups[number];
        if (request.select(group, wanted)) {
            select_in_group(group, number, wanted, selection.with_replaced, entries);
        }
    }
    if (selection.order == FieldOrder::file) {
        const auto place = [&](const Entry& entry) {
            const Columns& rows = catalogue->groups[entry.reference.group]->rows;
            return std::pair(rows.files[entry.reference.row], rows.offsets[entry.reference.row]);
        };
        std::ranges::sort(entries, {}, place);
    }
    auto impl = std::make_shared<Listing::Impl>();
    impl->rows.reserve(entries.size());
    if (selection.with_replaced) impl->is_replaced.reserve(entries.size());
    for (const Entry& entry : entries) {
        impl->rows.push_back(entry.reference);
        if (selection.with_replaced) impl->is_replaced.push_back(entry.is_replaced);
    }
    impl->used_keywords = used_keywords(*catalogue);
    impl->catalogue = std::move(catalogue);
    return impl;
}

std::optional<RowReference> find_field(const Catalogue& catalogue, const SplitKey& key) {
    const std::shared_lock lock(catalogue.mutex);
    const auto number = catalogue.group_numbers.find(identity_of(key));
    if (number == catalogue.group_numbers.end()) return {};
    const Group& group = *catalogue.groups[number->second];
    std::vector<std::uint32_t> ranks;
    for (std::size_t k = 0; k < group.num_keywords(); ++k) {
        const std::uint32_t code = group.dictionaries[k].find(key.values[field_level][k]);
        if (code == group.dictionaries[k].num_values()) return {};
        ranks.push_back(group.dictionaries[k].ranks()[code]);
    }
    const auto compare = [&](std::uint32_t row) {
        for (std::size_t k = 0; k < ranks.size(); ++k) {
            const std::uint32_t rank =
                group.dictionaries[k].ranks()[group.rows.codes[row * ranks.size() + k]];
            if (rank != ranks[k]) return rank < ranks[k] ? -1 : 1;
        }
        return 0;
    };
    const auto found =
        std::ranges::partition_point(group.order, [&](std::uint32_t row) { return compare(row) < 0; });
    if (found == group.order.end() || compare(*found) != 0) return {};
    return RowReference{number->second, *found};
}

FieldInfo describe(const Catalogue& catalogue, RowReference reference) {
    const Group& group = *catalogue.groups[reference.group];
    const Columns& rows = group.rows;
    FieldInfo info;
    // A keyword that stands in several levels is told once, by the last: the dataset's year, the field's
    // date.
    for (std::size_t level = 0; level < num_levels; ++level) {
        for (std::size_t k = 0; k < group.name.keywords[level].size(); ++k) {
            const std::string& value =
                level < field_level
                    ? group.name.values[level][k]
                    : group.dictionaries[k].value(rows.codes[reference.row * group.num_keywords() + k]);
            if (!value.empty()) info.key.set(group.name.keywords[level][k].name, value);
        }
    }
    info.form = group.forms.value(rows.forms[reference.row]);
    std::tie(info.file, info.offset_bytes) =
        catalogue.data_place(rows.files[reference.row], rows.offsets[reference.row]);
    info.length_bytes = rows.lengths[reference.row];
    info.checksum = rows.checksums[reference.row];
    info.flushed_ns = rows.stamps[reference.row];
    return info;
}

UsedKeywords used_keywords(const Catalogue& catalogue) {
    UsedKeywords used;
    for (const auto& group : catalogue.groups) {
        for (std::size_t level = 0; level < num_levels; ++level) {
            for (std::size_t k = 0; k < group->name.keywords[level].size(); ++k) {
                const auto has_value = [&] {
                    if (level < field_level) return !group->name.values[level][k].empty();
                    const Dictionary& dictionary = group->dictionaries[k];
                    const std::uint32_t num_empty = dictionary.find("") < dictionary.num_values() ? 1 : 0;
                    return dictionary.num_values() > num_empty;
                };
                const std::string& keyword = group->name.keywords[level][k].name;
                if (!used.contains(keyword) && has_value()) used.insert(keyword);
            }
        }
    }
    return used;
}

void append_key_text(const Catalogue& catalogue, const UsedKeywords& used, RowReference reference,
                     std::string& text) {
    const Group& group = *catalogue.groups[reference.group];
    const std::uint32_t* const codes = group.rows.codes.data() + reference.row * group.num_keywords();
    const Group::KeyText& parts = group.key_text;
    const auto value_of = [&](std::size_t k) -> const std::string& {
        return group.dictionaries[k].value(codes[k]);
    };
    const std::size_t begin = text.size();
    text += parts.upper;
    const auto separate = [&] {
        if (text.size() > begin) text += ',';
    };
    const auto append_empty = [&](const std::string& keyword) {
        if (!used.contains(keyword)) return;
        separate();
        text.append(keyword).append(1, '=');
    };
    for (const std::string& keyword : parts.upper_empty) append_empty(keyword);
    for (std::size_t k = 0; k < parts.keywords.size(); ++k) {
        const std::string& value = value_of(k);
        if (value.empty()) {
            append_empty(group.name.keywords[field_level][k].name);
        } else {
            separate();
            text.append(parts.keywords[k]).append(value);
        }
    }
    // Fields of another rule may have all of these values, and more.
    std::vector<std::string_view> appended;
    for (const Group::KeyText::Addition& addition : parts.additions) {
        if (std::ranges::any_of(addition.unless, [&](std::size_t k) { return !value_of(k).empty(); }))
            continue;
        for (const std::string& keyword : addition.adds) {
            if (std::ranges::find(appended, keyword) != appended.end()) continue;
            append_empty(keyword);
            appended.push_back(keyword);
        }
    }
}

}  // namespace store

std::int64_t Listing::size() const noexcept {
    return std::ssize(impl_->rows);
}

FieldInfo Listing::operator[](std::int64_t index) const {
    if (index < 0 || index >= size()) throw Error(ErrorCode::invalid_argument, "a listing has no such field");
    const auto at = static_cast<std::size_t>(index);
    const std::shared_lock lock(impl_->catalogue->mutex);
    FieldInfo info = store::describe(*impl_->catalogue, impl_->rows[at]);
    info.is_replaced = !impl_->is_replaced.empty() && impl_->is_replaced[at];
    return info;
}

std::int64_t Listing::length_bytes(std::int64_t index) const {
    const store::RowReference reference = impl_->rows.at(static_cast<std::size_t>(index));
    const std::shared_lock lock(impl_->catalogue->mutex);
    return impl_->catalogue->groups[reference.group]->rows.lengths[reference.row];
}

std::int64_t Listing::total_bytes() const {
    const std::shared_lock lock(impl_->catalogue->mutex);
    std::int64_t total = 0;
    for (const store::RowReference& reference : impl_->rows) {
        total += impl_->catalogue->groups[reference.group]->rows.lengths[reference.row];
    }
    return total;
}

void Listing::append_text(std::int64_t index, std::string& text) const {
    const std::shared_lock lock(impl_->catalogue->mutex);
    store::append_key_text(*impl_->catalogue, impl_->used_keywords,
                           impl_->rows.at(static_cast<std::size_t>(index)), text);
}

std::string Listing::value(std::int64_t index, std::string_view keyword) const {
    const store::RowReference reference = impl_->rows.at(static_cast<std::size_t>(index));
    const std::shared_lock lock(impl_->catalogue->mutex);
    const store::Group& group = *impl_->catalogue->groups[reference.group];
    for (std::size_t level = store::num_levels; level-- > 0;) {
        for (std::size_t k = 0; k < group.name.keywords[level].size(); ++k) {
            if (group.name.keywords[level][k].name != keyword) continue;
            if (level < store::field_level) return group.name.values[level][k];
            return group.dictionaries[k].value(group.rows.codes[reference.row * group.num_keywords() + k]);
        }
    }
    return {};
}

std::vector<std::string> Listing::keywords() const {
    const std::shared_lock lock(impl_->catalogue->mutex);
    std::vector<bool> is_listed(impl_->catalogue->groups.size());
    for (const store::RowReference& reference : impl_->rows) is_listed[reference.group] = true;
    std::vector<std::string> keywords;
    for (std::size_t i = 0; i < is_listed.size(); ++i) {
        if (!is_listed[i]) continue;
        for (const auto& level : impl_->catalogue->groups[i]->name.keywords) {
            for (const store::Keyword& keyword : level) {
                if (std::ranges::find(keywords, keyword.name) == keywords.end())
                    keywords.push_back(keyword.name);
            }
        }
    }
    return keywords;
}

}  // namespace hakobi
