#include "store/field_reader.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "base/checksum.hpp"
#include "base/parallel.hpp"

namespace hakobi::store {

namespace {

// Reading what lies between two fields costs less than another request: a request's latency at a disk's or a
// network's rate.
constexpr std::int64_t gap_bytes = 64 << 10;
constexpr std::int64_t chunk_bytes = 8 << 20;
constexpr std::int64_t window_bytes = 128 << 20;
constexpr std::size_t window_fields = 65536;
constexpr std::int64_t parallel_bytes = 1 << 20;  // less is read before a thread has begun
constexpr std::size_t most_open_files = 128;

Status not_as_written(const Catalogue& catalogue, const FieldPlace& place) {
    const std::shared_lock lock(catalogue.mutex);
    const auto [path, offset_bytes] = catalogue.data_place(place.file, place.offset_bytes);
    return {ErrorCode::format, path + ": the field at byte " + std::to_string(offset_bytes) + " (" +
                                   std::to_string(place.length_bytes) +
                                   " bytes) is not as it was written: see 'hakobi store check --deep'"};
}

}  // namespace

std::vector<Chunk> plan_chunks(std::span<const FieldPlace> fields, std::int64_t gap, std::int64_t most) {
    std::vector<std::size_t> order(fields.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto place = [&](std::size_t i) { return std::pair(fields[i].file, fields[i].offset_bytes); };
    if (!std::ranges::is_sorted(order, {}, place)) std::ranges::sort(order, {}, place);
    std::vector<Chunk> chunks;
    for (const std::size_t i : order) {
        const FieldPlace& field = fields[i];
        const std::int64_t end = field.offset_bytes + field.length_bytes;
        if (!chunks.empty()) {
            Chunk& last = chunks.back();
            const std::int64_t last_end = last.offset_bytes + last.length_bytes;
            if (last.file == field.file && field.offset_bytes - last_end <= gap &&
                end - last.offset_bytes <= most) {
                last.length_bytes = std::max(last_end, end) - last.offset_bytes;
                last.fields.push_back(i);
                continue;
            }
        }
        chunks.push_back({field.file, field.offset_bytes, field.length_bytes, {i}});
    }
    return chunks;
}

std::shared_ptr<storage::File> FieldReader::open(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = open_files_.find(path); found != open_files_.end()) return found->second;
    auto opened = place_.open_data(path);
    opened.status().throw_if_error();
    if (open_files_.size() >= most_open_files) open_files_.clear();
    std::shared_ptr<storage::File> file = std::move(opened).value();
    open_files_.emplace(path, file);
    return file;
}

void FieldReader::read_part(const std::string& path, std::int64_t offset_bytes, std::span<std::byte> bytes) {
    const Result<std::int64_t> length = open(path)->read_at(bytes, offset_bytes);
    length.status().throw_if_error();
    if (length.value() < std::ssize(bytes)) {
        throw Error(ErrorCode::format, path + " ends at byte " +
                                           std::to_string(offset_bytes + length.value()) +
                                           ", within a field: see 'hakobi store check'");
    }
}

void FieldReader::read_chunk(const Catalogue& catalogue, const Chunk& chunk, std::vector<std::byte>& bytes) {
    std::pair<std::string, std::int64_t> place;
    {
        const std::shared_lock lock(catalogue.mutex);
        place = catalogue.data_place(chunk.file, chunk.offset_bytes);
    }
    bytes.resize(static_cast<std::size_t>(chunk.length_bytes));
    read_part(place.first, place.second, bytes);
}

void FieldReader::read_field(const Catalogue& catalogue, RowReference reference,
                             std::vector<std::byte>& bytes) {
    FieldPlace place;
    {
        const std::shared_lock lock(catalogue.mutex);
        const Columns& rows = catalogue.groups[reference.group]->rows;
        place = {rows.files[reference.row], rows.offsets[reference.row], rows.lengths[reference.row],
                 rows.checksums[reference.row]};
    }
    read_chunk(catalogue, {place.file, place.offset_bytes, place.length_bytes, {}}, bytes);
    if (checksum_of(bytes) != place.checksum) not_as_written(catalogue, place).throw_if_error();
}

void FieldReader::read_window(const Catalogue& catalogue, std::span<const FieldPlace> places,
                              std::vector<std::vector<std::byte>>& memory,
                              std::vector<std::span<const std::byte>>& fields) {
    const std::vector<Chunk> chunks = plan_chunks(places, gap_bytes, chunk_bytes);
    memory.resize(std::max(memory.size(), chunks.size()));
    fields.resize(places.size());
    std::int64_t total = 0;
    for (const Chunk& chunk : chunks) total += chunk.length_bytes;
    // On object storage a request is long, however small.
    const bool is_parallel = total >= parallel_bytes || place_.most_object_bytes() > 0;
    for_each_parallel(chunks.size(), is_parallel ? num_threads_ : 1, "hakobi-read",
                      [&](std::size_t number) -> Status {
                          const Chunk& chunk = chunks[number];
                          std::vector<std::byte>& bytes = memory[number];
                          read_chunk(catalogue, chunk, bytes);
                          for (const std::size_t i : chunk.fields) {
                              const FieldPlace& place = places[i];
                              fields[i] = std::span<const std::byte>(bytes).subspan(
                                  static_cast<std::size_t>(place.offset_bytes - chunk.offset_bytes),
                                  static_cast<std::size_t>(place.length_bytes));
                              if (checksum_of(fields[i]) != place.checksum)
                                  return not_as_written(catalogue, place);
                          }
                          return {};
                      })
        .throw_if_error();
}

void FieldReader::read_all(const Listing::Impl& listing, const Store::Receiver& receive) {
    const Catalogue& catalogue = *listing.catalogue;
    std::vector<FieldPlace> places;
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::span<const std::byte>> fields;
    std::size_t begin = 0;
    while (begin < listing.rows.size()) {
        places.clear();
        std::int64_t total = 0;
        {
            const std::shared_lock lock(catalogue.mutex);
            for (std::size_t i = begin; i < listing.rows.size(); ++i) {
                const RowReference reference = listing.rows[i];
                const Columns& rows = catalogue.groups[reference.group]->rows;
                const std::int64_t length = rows.lengths[reference.row];
                if (!places.empty() && (total + length > window_bytes || places.size() == window_fields))
                    break;
                places.push_back({rows.files[reference.row], rows.offsets[reference.row], length,
                                  rows.checksums[reference.row]});
                total += length;
            }
        }
        read_window(catalogue, places, memory, fields);
        for (std::size_t i = 0; i < places.size(); ++i) {
            FieldInfo info;
            {
                const std::shared_lock lock(catalogue.mutex);
                info = describe(catalogue, listing.rows[begin + i]);
            }
            info.is_replaced = !listing.is_replaced.empty() && listing.is_replaced[begin + i];
            receive(info, fields[i]);
        }
        begin += places.size();
    }
}

}  // namespace hakobi::store
