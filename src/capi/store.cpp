#include <hakobi/bindings.h>

#include <algorithm>
#include <cstring>
#include <hakobi/grib.hpp>
#include <hakobi/store.hpp>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capi/guard.hpp"
#include "capi/sized.hpp"
#include "store/value_type.hpp"

using hakobi::Error;
using hakobi::ErrorCode;
using hakobi::StoreOptions;
using hakobi::capi::guarded;
using hakobi::capi::taken;
using hakobi::capi::text_or;
using hakobi::capi::yes;

struct hakobi_store {
    hakobi::Store store;
};

struct hakobi_listing {
    hakobi::Listing listing;
    std::string key, form, file, keywords;  ///< what get and keywords point to
    std::vector<std::string> values;        ///< of the latest column
};

namespace {

std::span<const std::byte> message_of(const void* message, int64_t num_bytes) {
    if (message == nullptr || num_bytes <= 0)
        throw Error(ErrorCode::invalid_argument, "there is no GRIB message");
    return {static_cast<const std::byte*>(message), static_cast<std::size_t>(num_bytes)};
}

StoreOptions options_of(const hakobi_store_options* given) {
    const hakobi_store_options from = taken(given, "hakobi_store_options");
    StoreOptions options;
    options.schema = text_or(from.schema);
    options.writer = text_or(from.writer);
    if (from.num_buffers != 0) options.num_buffers = std::clamp(from.num_buffers, 0, 1 << 20);
    if (from.buffer_bytes != 0) options.buffer_bytes = from.buffer_bytes;
    if (from.num_threads != 0) options.num_threads = std::clamp(from.num_threads, 1, 1024);
    options.pad_bytes = from.pad_bytes;
    options.asynchronous = yes(from.asynchronous, options.asynchronous, "asynchronous");
    options.sync = yes(from.sync, options.sync, "sync");
    options.sync_directory = yes(from.sync_directory, options.sync_directory, "sync_directory");
    options.huge_pages = yes(from.huge_pages, options.huge_pages, "huge_pages");
    options.direct = yes(from.direct, options.direct, "direct");
    return options;
}

hakobi::Selection selection_of(const hakobi_selection* given) {
    const hakobi_selection from = taken(given, "hakobi_selection");
    if (from.order != HAKOBI_ORDER_KEY && from.order != HAKOBI_ORDER_FILE)
        throw Error(ErrorCode::invalid_argument,
                    "order is " + std::to_string(from.order) + ", not HAKOBI_ORDER_KEY or HAKOBI_ORDER_FILE");
    return {.order = from.order == HAKOBI_ORDER_FILE ? hakobi::FieldOrder::file : hakobi::FieldOrder::key,
            .with_replaced = yes(from.with_replaced, false, "with_replaced"),
            .is_strict = yes(static_cast<int>(from.is_strict), true, "is_strict")};
}

template <class Handle>
Handle& require_store(Handle* handle, const char* what) {
    if (handle == nullptr) throw Error(ErrorCode::invalid_argument, std::string(what) + " is NULL");
    return *handle;
}

}  // namespace

int hakobi_store_open(const char* path, const hakobi_store_options* options, hakobi_store** store) {
    return guarded([&] {
        if (store != nullptr) *store = nullptr;
        require_store(store, "hakobi_store_open: store");
        require_store(path, "hakobi_store_open: path");
        *store = new hakobi_store{hakobi::Store::open(path, options_of(options))};
    });
}

int hakobi_store_archive(hakobi_store* store, const char* key, const void* bytes, int64_t num_bytes,
                         const char* form) {
    return guarded([&] {
        require_store(store, "hakobi_store_archive: store");
        require_store(key, "hakobi_store_archive: key");
        if (num_bytes < 0 || (bytes == nullptr && num_bytes > 0)) {
            throw Error(ErrorCode::invalid_argument, "hakobi_store_archive: no bytes");
        }
        store->store.archive(hakobi::Key::parse(key),
                             {static_cast<const std::byte*>(bytes), static_cast<std::size_t>(num_bytes)},
                             text_or(form));
    });
}

int hakobi_store_archive_grib(hakobi_store* store, const void* message, int64_t num_bytes) {
    return guarded([&] {
        require_store(store, "hakobi_store_archive_grib: store");
        store->store.archive_grib(message_of(message, num_bytes));
    });
}

int hakobi_store_flush(hakobi_store* store) {
    return guarded([&] { require_store(store, "hakobi_store_flush: store").store.flush(); });
}

int hakobi_store_close(hakobi_store* store) {
    return guarded([&] { require_store(store, "hakobi_store_close: store").store.close(); });
}

void hakobi_store_free(hakobi_store* store) {
    delete store;
}

int hakobi_store_list(hakobi_store* store, const char* request, const hakobi_selection* selection,
                      hakobi_listing** listing) {
    return guarded([&] {
        if (listing != nullptr) *listing = nullptr;
        require_store(store, "hakobi_store_list: store");
        require_store(listing, "hakobi_store_list: listing");
        *listing = new hakobi_listing{
            store->store.list(text_or(request), selection_of(selection)), {}, {}, {}, {}, {}};
    });
}

void hakobi_listing_free(hakobi_listing* listing) {
    delete listing;
}

int64_t hakobi_listing_size(const hakobi_listing* listing) {
    return listing != nullptr ? listing->listing.size() : 0;
}

int hakobi_listing_get(hakobi_listing* listing, int64_t index, hakobi_field_info* info) {
    return guarded([&] {
        require_store(listing, "hakobi_listing_get: listing");
        require_store(info, "hakobi_listing_get: info");
        const hakobi::FieldInfo field = listing->listing[index];
        listing->key.clear();
        listing->listing.append_text(index, listing->key);
        listing->form = field.form;
        listing->file = field.file;
        hakobi_field_info shown = {};
        shown.key = listing->key.c_str();
        shown.form = listing->form.c_str();
        shown.file = listing->file.c_str();
        shown.offset_bytes = field.offset_bytes;
        shown.length_bytes = field.length_bytes;
        shown.checksum = field.checksum;
        shown.flushed_ns = field.flushed_ns;
        shown.is_replaced = field.is_replaced ? 1 : 0;
        hakobi::capi::give(shown, *info, "hakobi_field_info");
    });
}

int hakobi_listing_keywords(hakobi_listing* listing, const char** keywords) {
    return guarded([&] {
        require_store(listing, "hakobi_listing_keywords: listing");
        require_store(keywords, "hakobi_listing_keywords: keywords");
        listing->keywords.clear();
        for (const std::string& keyword : listing->listing.keywords()) {
            listing->keywords.append(listing->keywords.empty() ? "" : ",").append(keyword);
        }
        *keywords = listing->keywords.c_str();
    });
}

int hakobi_listing_column(hakobi_listing* listing, const char* keyword, int32_t* codes, int64_t* num_values) {
    return guarded([&] {
        require_store(listing, "hakobi_listing_column: listing");
        require_store(keyword, "hakobi_listing_column: keyword");
        require_store(num_values, "hakobi_listing_column: num_values");
        if (codes == nullptr && listing->listing.size() > 0)
            require_store(codes, "hakobi_listing_column: codes");
        std::unordered_map<std::string, std::int32_t> numbers;
        std::vector<std::string> values;
        for (std::int64_t i = 0; i < listing->listing.size(); ++i) {
            const auto [entry, is_new] =
                numbers.emplace(listing->listing.value(i, keyword), static_cast<std::int32_t>(values.size()));
            if (is_new) values.push_back(entry->first);
            codes[i] = entry->second;
        }
        std::vector<std::string> sorted = values;
        std::ranges::sort(sorted, hakobi::store::value_less);
        for (std::size_t i = 0; i < sorted.size(); ++i) numbers[sorted[i]] = static_cast<std::int32_t>(i);
        for (std::int64_t i = 0; i < listing->listing.size(); ++i)
            codes[i] = numbers[values[static_cast<std::size_t>(codes[i])]];
        listing->values = std::move(sorted);
        *num_values = std::ssize(listing->values);
    });
}

const char* hakobi_listing_value(const hakobi_listing* listing, int64_t number) {
    const bool is_there = listing != nullptr && number >= 0 && number < std::ssize(listing->values);
    return is_there ? listing->values[static_cast<std::size_t>(number)].c_str() : nullptr;
}

int hakobi_store_retrieve(hakobi_store* store, const hakobi_listing* listing,
                          void (*receive)(void* context, int64_t index, const void* bytes, int64_t num_bytes),
                          void* context) {
    return guarded([&] {
        require_store(store, "hakobi_store_retrieve: store");
        require_store(listing, "hakobi_store_retrieve: listing");
        if (receive == nullptr)
            throw Error(ErrorCode::invalid_argument, "hakobi_store_retrieve: receive is NULL");
        std::int64_t index = 0;
        store->store.retrieve(listing->listing,
                              [&](const hakobi::FieldInfo&, std::span<const std::byte> bytes) {
                                  receive(context, index++, bytes.data(), std::ssize(bytes));
                              });
    });
}

int hakobi_store_retrieve_one(hakobi_store* store, const char* key, void* bytes, int64_t num_bytes) {
    return guarded([&] {
        require_store(store, "hakobi_store_retrieve_one: store");
        require_store(key, "hakobi_store_retrieve_one: key");
        const std::vector<std::byte> found = store->store.retrieve(hakobi::Key::parse(key));
        if (std::ssize(found) != num_bytes || bytes == nullptr) {
            throw Error(ErrorCode::invalid_argument, "the field " + std::string(key) + " has " +
                                                         std::to_string(found.size()) + " bytes, not " +
                                                         std::to_string(num_bytes));
        }
        std::memcpy(bytes, found.data(), found.size());
    });
}

int hakobi_store_read(hakobi_store* store, hakobi_listing* listing, int64_t index, int64_t offset_bytes,
                      void* bytes, int64_t num_bytes) {
    return guarded([&] {
        require_store(store, "hakobi_store_read: store");
        require_store(listing, "hakobi_store_read: listing");
        if (num_bytes < 0 || (bytes == nullptr && num_bytes > 0)) {
            throw Error(ErrorCode::invalid_argument, "hakobi_store_read: no memory for the bytes");
        }
        store->store.read(listing->listing[index], offset_bytes,
                          {static_cast<std::byte*>(bytes), static_cast<std::size_t>(num_bytes)});
    });
}

int hakobi_grib_values(const void* message, int64_t num_bytes, double* values, int64_t room,
                       int64_t* num_values) {
    return hakobi_grib_array(message, num_bytes, "values", values, room, num_values);
}

int hakobi_grib_array(const void* message, int64_t num_bytes, const char* name, double* values, int64_t room,
                      int64_t* num_values) {
    return guarded([&] {
        require_store(num_values, "hakobi_grib_array: num_values");
        const std::vector<double> found = hakobi::grib_array(message_of(message, num_bytes), text_or(name));
        *num_values = std::ssize(found);
        const auto count = std::clamp<std::int64_t>(room, 0, *num_values);
        if (count > 0) std::copy_n(found.data(), count, &require_store(values, "hakobi_grib_array: values"));
    });
}

int hakobi_grib_texts(const void* message, int64_t num_bytes, const char* names, const char** texts) {
    return guarded([&] {
        require_store(texts, "hakobi_grib_texts: texts");
        std::vector<std::string> keys;
        const std::string all = text_or(names);
        for (std::string_view rest = all; !rest.empty();) {
            const std::size_t end = std::min(rest.find(','), rest.size());
            keys.emplace_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        static thread_local std::string lines;
        lines.clear();
        for (std::string& text : hakobi::grib_texts(message_of(message, num_bytes), keys)) {
            std::ranges::replace(text, '\n', ' ');
            lines.append(text).append(1, '\n');
        }
        *texts = lines.c_str();
    });
}

const char* hakobi_store_param_name(const char* number) {
    const std::string_view name = hakobi::store::param_name(text_or(number));
    return name.empty() ? nullptr : name.data();  // a literal's, which ends with 0
}
