#include "store/store.hpp"

#include <algorithm>

#include "device/device.hpp"
#include "store/request.hpp"

namespace hakobi {

namespace {

void check_key_text(const Key& key) {
    for (const auto& [keyword, value] : key.entries()) {
        const auto is_special = [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == ',' || c == '=';
        };
        if (std::ranges::any_of(value, is_special)) {
            throw Error(
                ErrorCode::invalid_argument,
                "the value of " + keyword + " holds ',', '=' or a control character: '" + value + "'");
        }
    }
}

/// The text that `list` prints must be a request for that field.
void check_values(const store::SplitKey& split) {
    for (std::size_t level = 0; level < store::num_levels; ++level) {
        std::size_t i = 0;
        for (const store::KeywordRule& rule : split.rule->levels[level]) {
            if (rule.presence == store::KeywordRule::Presence::removed) continue;
            const std::string& value = split.values[level][i++];
            if (!store::reads_as_request(value)) continue;
            throw Error(ErrorCode::invalid_argument,
                        "no request could ask for " + rule.keyword.name + "='" + value +
                            "': a value is neither * nor 'all', has no '/', and no blank at its ends");
        }
    }
}

/// A processor reads the bytes.
void check_memory(std::span<const std::byte> bytes, const Key& key) {
    const Result<device::Device*> found = device::device_of(bytes.data(), std::ssize(bytes));
    if (found.ok() && found.value() == nullptr) return;
    if (!found.ok()) throw Error(found.status().code(), "field " + key.text() + ": " + found.status().text());
    throw Error(ErrorCode::unsupported, "field " + key.text() + ": it is in memory of " +
                                            found.value()->text() + ", and archive takes memory of the host");
}

}  // namespace

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Store Store::open(std::string_view path, StoreOptions options) {
    if (!options.writer.empty() && !store::is_writer_name(options.writer)) {
        throw Error(ErrorCode::invalid_argument, "a writer cannot be called '" + options.writer +
                                                     "': letters, digits, '.', '_' and '-', at most 100");
    }
    if (options.pad_bytes < 0 || options.pad_bytes > (1 << 30)) {
        throw Error(ErrorCode::invalid_argument, "pad_bytes is from 0 to 1 GiB");
    }
    return Store(std::make_unique<Impl>(store::Folder::open(path, options.schema), std::move(options)));
}

void Store::archive(const Key& key, std::span<const std::byte> bytes, std::string_view form) {
    if (bytes.empty()) throw Error(ErrorCode::invalid_argument, "a field of no bytes: " + key.text());
    check_key_text(key);
    check_memory(bytes, key);
    store::SplitKey split;
    impl_->folder.schema().split(key, split).throw_if_error();
    check_values(split);
    const std::scoped_lock lock(impl_->writing);
    if (!impl_->writer) impl_->writer.reset(new store::Writer(impl_->folder, impl_->options));
    impl_->writer->archive(split, form, bytes);
}

void Store::flush() {
    const std::scoped_lock lock(impl_->writing);
    if (impl_->writer) impl_->writer->flush();
}

Listing Store::list(std::string_view request, const Selection& selection) const {
    const store::Request parsed(request, impl_->folder.schema());
    return Listing(store::select(impl_->index.refreshed(), parsed, selection));
}

void Store::retrieve(const Listing& fields, const Receiver& receive) const {
    impl_->reader.read_all(fields.impl(), receive);
}

std::vector<std::byte> Store::retrieve(const Key& key) const {
    store::SplitKey split;
    impl_->folder.schema().split(key, split).throw_if_error();
    const auto catalogue = impl_->index.refreshed();
    const auto reference = store::find_field(*catalogue, split);
    if (!reference)
        throw Error(ErrorCode::not_found, "no field " + key.text() + " in " + impl_->folder.path());
    std::vector<std::byte> bytes;
    impl_->reader.read_field(*catalogue, *reference, bytes);
    return bytes;
}

void Store::read(const FieldInfo& field, std::int64_t offset_bytes, std::span<std::byte> bytes) const {
    if (offset_bytes < 0 || offset_bytes > field.length_bytes ||
        std::ssize(bytes) > field.length_bytes - offset_bytes) {
        throw Error(ErrorCode::invalid_argument, "bytes " + std::to_string(offset_bytes) + " to " +
                                                     std::to_string(offset_bytes + std::ssize(bytes)) +
                                                     " of a field of " + std::to_string(field.length_bytes));
    }
    impl_->reader.read_part(field.file, field.offset_bytes + offset_bytes, bytes);
}

void Store::refresh() const {
    (void)impl_->index.refreshed();
}

StoreCounters Store::counters() const {
    const std::scoped_lock lock(impl_->writing);
    return impl_->writer ? impl_->writer->counters() : StoreCounters();
}

std::string Store::path() const {
    return impl_->folder.path();
}

std::string Store::schema() const {
    return impl_->folder.schema().text();
}

std::vector<std::string> Store::warnings() const {
    return impl_->index.warnings();
}

void Store::close() {
    const std::scoped_lock lock(impl_->writing);
    if (impl_->writer) impl_->writer->close();
}

}  // namespace hakobi
