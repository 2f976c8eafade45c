#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <shared_mutex>
#include <tuple>

#include "storage/file.hpp"
#include "storage/paced_copy.hpp"
#include "store/gate.hpp"
#include "store/listing.hpp"
#include "store/maintenance.hpp"
#include "store/writer.hpp"

namespace hakobi::store {

namespace {

namespace fs = std::filesystem;

void copy_verified(const std::string& from, const std::string& to) {
    auto target = storage::open_file(to, {.read = false, .write = true, .create = true, .exclusive = true});
    target.status().throw_if_error();
    storage::File& file = *target.value();
    const Result<std::uint64_t> written =
        storage::checksum_of_file(from, [&](auto part, std::int64_t at) { return file.write_at(part, at); });
    written.status().throw_if_error();
    file.sync().throw_if_error();
    file.close().throw_if_error();
    const Result<std::uint64_t> read = storage::checksum_of_file(to);
    read.status().throw_if_error();
    if (read.value() != written.value())
        throw Error(ErrorCode::io, to + " reads back other bytes than were written: the store is not moved");
}

void copy_store(const std::string& from, const std::string& to) {
    // The marker is copied last: until then the copy is no store.
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
        std::string name = entry.path().filename();
        const bool is_nothing = name.ends_with(".tmp") || name == "moving";
        if (!is_nothing) names.push_back(std::move(name));
    }
    std::ranges::sort(names, {},
                      [](const std::string& name) { return std::pair(name == "hakobi-store", name); });
    for (const std::string& name : names) copy_verified(from + "/" + name, to + "/" + name);
    sync_folder(to);
}

/// The same fields by the time of their flush, and within a flush as they were archived: what counts comes
/// last.
Listing in_order_of_flushes(const Listing& fields) {
    const Catalogue& catalogue = *fields.impl().catalogue;
    const auto ordered = fields.impl().without_fields();
    ordered->rows = fields.impl().rows;
    const std::shared_lock lock(catalogue.mutex);
    std::ranges::sort(ordered->rows, {}, [&](const RowReference& reference) {
        const Columns& rows = catalogue.groups[reference.group]->rows;
        return std::tuple(rows.stamps[reference.row], rows.files[reference.row], rows.offsets[reference.row]);
    });
    return Listing(ordered);
}

/// All fields of one writer, in the order of its data.
Listing fields_of(const Store& store, const std::string& stem) {
    const Listing all =
        store.list("", {.order = FieldOrder::file, .with_replaced = true, .is_strict = false});
    const Catalogue& catalogue = *all.impl().catalogue;
    const auto found = all.impl().without_fields();
    const std::shared_lock lock(catalogue.mutex);
    std::ranges::copy_if(
        all.impl().rows, std::back_inserter(found->rows), [&](const RowReference& reference) {
            return catalogue.files[catalogue.groups[reference.group]->rows.files[reference.row]].stem == stem;
        });
    return Listing(found);
}

/// Copies these fields with the times of their flushes into another store by one flush, and reads them back.
void copy_fields(const Store& source, const Listing& fields, const Folder& to) {
    const Listing ordered = in_order_of_flushes(fields);
    Writer writer(to, {});
    std::int64_t stamp_ns = 0;
    std::vector<std::uint64_t> checksums;
    SplitKey split;
    source.retrieve(ordered, [&](const FieldInfo& info, std::span<const std::byte> bytes) {
        if (info.flushed_ns != stamp_ns) writer.end_batch(stamp_ns);
        stamp_ns = info.flushed_ns;
        to.schema().split(info.key, split).throw_if_error();
        writer.archive(split, info.form, bytes);
        checksums.push_back(info.checksum);
    });
    writer.end_batch(stamp_ns);
    writer.flush();
    writer.close();
    // Read back before anything is removed.
    const Store arrived = Store::open(to.path());
    std::size_t count = 0;
    arrived.retrieve(fields_of(arrived, writer.stem()),
                     [&](const FieldInfo& info, std::span<const std::byte>) {
                         if (count < checksums.size() && info.checksum == checksums[count]) ++count;
                     });
    if (count != checksums.size()) {
        throw Error(ErrorCode::io, "a field in " + to.path() +
                                       " is not as it was written: nothing is removed from " + source.path());
    }
}

/// Where one of the two is on object storage, whose data lies in other pieces: the fields are written anew.
void move_store_by_fields(const Folder& folder, const std::string& target) {
    const bool is_there = Folder::is_there(target);
    // A store that a killed move has made, and not yet filled, is taken.
    if (is_there && Store::open(target).list("", {.with_replaced = true}).size() > 0)
        throw Error(ErrorCode::exists, "cannot move the store to " + target + ": it has fields");
    const Gate gate(folder, target);
    const Folder to = Folder::open_with(target, folder.schema().text(), "the store " + folder.path());
    const Store source = Store::open(folder.path());
    const Listing fields = source.list("", {.with_replaced = true});
    if (fields.size() > 0) copy_fields(source, fields, to);
    // The copy is whole and in place. The marker goes first: what is left of the source is no store any more.
    folder.place().remove(marker_name).throw_if_error();
    folder.place().sync_names();
    folder.place().remove_all().throw_if_error();
}

}  // namespace

void move_store(const Folder& folder, const std::string& where) {
    const std::string target = where.substr(0, where.find_last_not_of('/') + 1);
    check_address(where);
    if (is_on_objects(folder.path()) || is_on_objects(target)) return move_store_by_fields(folder, target);
    if (fs::exists(target))
        throw Error(ErrorCode::exists, "cannot move the store to " + target + ": it exists");
    const std::string parent = fs::absolute(target).parent_path().string();
    if (!fs::is_directory(parent)) throw Error(ErrorCode::not_found, "no folder " + parent);
    Gate gate(folder, target);
    if (std::rename(folder.path().c_str(), target.c_str()) == 0) {
        gate.follow(target);
        sync_folder(parent);
        return;
    }
    if (errno != EXDEV) status_of_errno(errno, "cannot move the store to", target).throw_if_error();
    const std::string part = target + ".part";
    if (::mkdir(part.c_str(), 0777) != 0) {
        throw Error(ErrorCode::exists, "cannot copy the store to " + part + ": " + std::strerror(errno) +
                                           ". Where a move was killed, remove it");
    }
    try {
        copy_store(folder.path(), part);
        if (std::rename(part.c_str(), target.c_str()) != 0) {
            status_of_errno(errno, "cannot move the store to", target).throw_if_error();
        }
        sync_folder(parent);
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(part, ignored);
        throw;
    }
    // The copy is whole and in place. The marker goes first: what is left of the source is no store any more.
    folder.place().remove(marker_name).throw_if_error();
    folder.place().sync_names();
    folder.place().remove_all().throw_if_error();
}

std::int64_t move_fields(const Store& source, std::string_view request, const std::string& target) {
    return move_fields(source, source.list(request, {.with_replaced = true}), target);
}

std::int64_t move_fields(const Store& source, const Listing& fields, const std::string& target) {
    if (fields.size() == 0) return 0;
    const Folder from = Folder::open(source.path(), "");
    // A new store gets the source's schema, one that is there keeps its own.
    const Folder to = Folder::is_there(target)
                          ? Folder::open(target, "")
                          : Folder::open_with(target, from.schema().text(), "the store " + from.path());
    const bool are_folders = from.place().is_folder() && to.place().is_folder();
    if (are_folders ? fs::equivalent(from.path(), to.path()) : from.path() == to.path()) {
        throw Error(ErrorCode::invalid_argument, "fields cannot be moved to the store that holds them");
    }
    copy_fields(source, fields, to);
    wipe(from, plan_wipe(fields));
    return fields.size() - std::ranges::count(fields.impl().is_replaced, true);
}

}  // namespace hakobi::store
