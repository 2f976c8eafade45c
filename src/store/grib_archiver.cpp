#include "store/grib_archiver.hpp"

#include <algorithm>
#include <array>
#include <hakobi/grib.hpp>
#include <optional>
#include <shared_mutex>

#include "base/checksum.hpp"
#include "format/grib/messages.hpp"
#include "format/grib/split.hpp"
#include "store/listing.hpp"
#include "store/store.hpp"

namespace hakobi::store {
namespace {

/// The identity of a key's field.
std::string identity_of_field(const SplitKey& split) {
    std::string identity = identity_of(split);
    for (const std::string& value : split.values[field_level]) identity.append(1, '\0').append(value);
    return identity;
}

std::optional<FieldInfo> find_info(const Listing& listing, const SplitKey& split) {
    const Catalogue& catalogue = *listing.impl().catalogue;
    const auto found = find_field(catalogue, split);
    if (!found) return {};
    const std::shared_lock lock(catalogue.mutex);
    return describe(catalogue, *found);
}

/// Whether a key's keyword must agree with the message. If the message is not labelled for MARS, others may
/// have chosen other words for keywords that it lacks.
bool is_comparable(std::string_view keyword, const Key& key, const Key& message) {
    if (!message.get("class").empty()) return true;
    if (keyword == "levelist") return key.get("levtype") == message.get("levtype");
    constexpr std::array<std::string_view, 6> plain{"date", "time", "step", "number", "param", "origin"};
    return std::ranges::find(plain, keyword) != plain.end();
}

std::optional<ValueType> type_of(const Schema& schema, std::string_view keyword) {
    for (const Rule& rule : schema.rules()) {
        for (const auto& level : rule.levels) {
            for (const KeywordRule& entry : level) {
                if (entry.keyword.name == keyword) return entry.keyword.type;
            }
        }
    }
    return {};
}

}  // namespace

GribArchiver::GribArchiver(Store& store, Tell tell, bool is_deep)
    : store_(store), tell_(std::move(tell)), is_deep_(is_deep), there_(store.list()) {}

std::string GribArchiver::name_of(const Origin& origin) const {
    return files_[origin.file] + ", message " + std::to_string(origin.message) + " at byte " +
           std::to_string(origin.begin_bytes);
}

void GribArchiver::tell(const Origin& origin, std::string_view problem) {
    ++report_.num_problems;
    tell_(name_of(origin).append(": ").append(problem));
}

void GribArchiver::archive_file(const std::string& path) {
    auto messages = format::grib::MessageFile::open(path);
    if (!messages.ok()) {
        ++report_.num_problems;
        tell_(path + ": " + messages.status().text());
        return;
    }
    Origin origin{.file = files_.size()};
    files_.push_back(path);
    for (;;) {
        auto next = messages.value().next();
        next.status().throw_if_error();
        if (!next.value()) break;
        const format::grib::MessageFile::Found& found = *next.value();
        ++origin.message;
        origin.begin_bytes = found.begin;
        if (!found.status.ok()) {
            tell(origin, found.status.text() + "; " + std::to_string(found.end - found.begin) +
                             " bytes are passed over");
        } else {
            ++report_.num_messages;
            archive_message(found.bytes, origin);
        }
    }
    if (origin.message == 0) {
        ++report_.num_problems;
        tell_(path + ": it has no GRIB message");
    }
    store_.flush();
}

void GribArchiver::archive_message(std::span<const std::byte> message, const Origin& origin) {
    const auto fields = format::grib::split_message(message);
    if (!fields.ok()) {
        tell(origin, fields.status().text());
    } else if (fields.value().empty()) {
        archive_field(message, origin);
    } else {
        for (const auto& field : fields.value()) archive_field(field, origin);
    }
}

void GribArchiver::archive_field(std::span<const std::byte> field, Origin origin) {
    Key key;
    SplitKey split;
    try {
        key = grib_key(field);
        if (is_deep_) (void)grib_values(field);
        store_.impl().folder.schema().split(key, split).throw_if_error();
    } catch (const Error& error) {
        if (error.code() == ErrorCode::unsupported) throw;  // no ecCodes: no message can be archived
        const bool is_labelled = !key.get("class").empty() || key.entries().empty();
        const bool takes_all = is_labelled || store_.impl().folder.schema().has_keyword("origin");
        tell(origin,
             takes_all ? error.what() : "it is not labelled for MARS: a store of the schema grib takes it");
        return;
    }
    origin.checksum = checksum_of(field);
    const auto [place, is_new] = archived_.try_emplace(identity_of_field(split), origin);
    if (!is_new) {
        const Origin& first = place->second;
        if (first.checksum == origin.checksum) {
            ++report_.num_known;
        } else {
            tell(origin, "another field than that of " + name_of(first) + ", by the same keywords " +
                             key.text() + ": the first one stays");
        }
        return;
    }
    if (const auto there = find_info(there_, split)) {
        if (there->checksum == origin.checksum && there->length_bytes == std::ssize(field)) {
            ++report_.num_known;
            return;
        }
        ++report_.num_replaced;
    }
    store_.archive(key, field, "grib");
    ++report_.num_archived;
    report_.num_bytes += std::ssize(field);
}

void check_key_of_grib(const Schema& schema, const Key& key, std::span<const std::byte> message) {
    const auto fields = format::grib::split_message(message);
    fields.status().throw_if_error();
    if (!fields.value().empty()) {
        throw Error(ErrorCode::invalid_argument, "the GRIB message has " +
                                                     std::to_string(fields.value().size()) +
                                                     " fields, and a key is for one: 'hakobi store archive' "
                                                     "archives each by its own");
    }
    const Key found = grib_key(message);
    for (const auto& [keyword, given] : key.entries()) {
        const std::string_view own = found.get(keyword);
        const auto type = type_of(schema, keyword);
        if (own.empty() || given.empty() || !type || !is_comparable(keyword, key, found)) continue;
        const auto of_key = canonical(*type, given, ValueSource::field);
        const auto of_message = canonical(*type, own, ValueSource::field);
        if (!of_key.ok() || !of_message.ok() || of_key.value() == of_message.value()) continue;
        throw Error(ErrorCode::invalid_argument, "the key says " + keyword + "=" + given +
                                                     ", and the GRIB message has " + keyword + "=" +
                                                     std::string(own));
    }
}

}  // namespace hakobi::store
