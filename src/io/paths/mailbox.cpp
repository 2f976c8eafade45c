#include "io/paths/mailbox.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "io/policy.hpp"
#include "region/copy.hpp"
#include "storage/concurrency.hpp"

namespace hakobi::io {
namespace {

struct Mail {
    std::int64_t offset = 0, length = 0;
    std::byte* data = nullptr;
    RankPlace* place = nullptr;
};

std::int64_t end_of(const Mail& mail) {
    return mail.offset + mail.length;
}

std::vector<Mail> mail_in_file_order(std::span<RankPlace> places) {
    std::vector<Mail> mail;
    for (RankPlace& place : places) {
        std::byte* data = place.mail.data();
        for (std::int64_t i = 0; i < place.num_mail_pieces; ++i) {
            const MailPiece& piece = place.pieces[static_cast<std::size_t>(i)];
            mail.push_back({piece.offset_bytes, piece.length_bytes, data, &place});
            data += piece.length_bytes;
        }
    }
    std::stable_sort(mail.begin(), mail.end(),
                     [](const Mail& a, const Mail& b) { return a.offset < b.offset; });
    return mail;
}

/// Whether a run of pieces from `first` to `end_bytes` takes the next one in.
bool joins(const Mail& first, std::int64_t end_bytes, const Mail& next, bool is_write) {
    const std::int64_t gap = next.offset - end_bytes;
    // Writing joins touching pieces only: holes are not ours, and of overlapping pieces one wins a byte.
    if (is_write) return gap == 0;
    return gap <= policy().joined_gap && end_of(next) - first.offset <= policy_limits::most_read_run;
}

Status write_run(storage::File& file, std::span<const Mail> run, std::vector<std::byte>& joined) {
    if (run.size() == 1)
        return file.write_at({run[0].data, static_cast<std::size_t>(run[0].length)}, run[0].offset);
    joined.clear();
    for (const Mail& mail : run) joined.insert(joined.end(), mail.data, mail.data + mail.length);
    return file.write_at(joined, run[0].offset);
}

Status read_run(storage::File& file, std::span<const Mail> run, std::int64_t end,
                std::vector<std::byte>& joined) {
    joined.resize(static_cast<std::size_t>(end - run[0].offset));
    Result<std::int64_t> read = file.read_at(joined, run[0].offset);
    if (!read.ok()) return read.status();
    for (const Mail& mail : run) {
        const std::int64_t at = mail.offset - run[0].offset;
        const std::int64_t length = std::clamp<std::int64_t>(read.value() - at, 0, mail.length);
        std::memcpy(mail.data, joined.data() + at, static_cast<std::size_t>(length));
        mail.place->bytes_read += length;
    }
    return {};
}

}  // namespace

bool fits_mailbox(const Region& file) {
    return file.size_bytes() <= mailbox_bytes && file.num_pieces() <= mailbox_pieces;
}

void fill_mailbox(RankPlace& place, const Region& file, const Region& memory, const std::byte* origin,
                  bool is_write) {
    place.num_mail_pieces = 0;
    place.bytes_read = 0;
    Cursor cursor(file);
    while (!cursor.at_end()) {
        place.pieces[static_cast<std::size_t>(place.num_mail_pieces++)] = {cursor.offset(),
                                                                           cursor.remaining()};
        cursor.advance(cursor.remaining());
    }
    if (!is_write || file.empty()) return;
    Cursor source(memory);
    pack(source, origin, memory.size_bytes(), place.mail.data());
}

std::int64_t empty_mailbox(const RankPlace& place, const Region& memory, std::byte* origin) {
    if (place.bytes_read > 0) {
        Cursor target(memory);
        unpack(target, origin, place.bytes_read, place.mail.data());
    }
    return place.bytes_read;
}

std::int64_t num_written_runs(std::span<RankPlace> places) {
    const std::vector<Mail> mail = mail_in_file_order(places);
    std::int64_t num_runs = 0;
    for (std::size_t i = 0; i < mail.size(); ++i)
        num_runs += i == 0 || mail[i].offset != end_of(mail[i - 1]) ? 1 : 0;
    return num_runs;
}

Status serve_mailboxes(storage::File& file, std::span<RankPlace> places, bool is_write) try {
    const std::vector<Mail> mail = mail_in_file_order(places);
    std::vector<std::byte> joined;
    for (std::size_t begin = 0; begin < mail.size();) {
        std::int64_t end_bytes = end_of(mail[begin]);
        std::size_t end = begin + 1;
        for (; end < mail.size() && joins(mail[begin], end_bytes, mail[end], is_write); ++end) {
            end_bytes = std::max(end_bytes, end_of(mail[end]));
        }
        const std::span<const Mail> run(&mail[begin], end - begin);
        Status status = is_write ? write_run(file, run, joined) : read_run(file, run, end_bytes, joined);
        if (!status.ok()) return status;
        begin = end;
    }
    return {};
} catch (const std::bad_alloc&) {
    return {ErrorCode::out_of_memory,
            "no memory to join small requests in"};  // the other ranks wait for this one
}

namespace paths {

void Mailbox::post(const Request& request, const Progress& progress, bool is_first) {
    RankPlace& place = control_.own_place();
    const bool is_small = is_first && setting_.shuffle == ShuffleHint::automatic && !setting_.has_limit &&
                          progress.status.ok() && progress.is_ordered && request.device == nullptr &&
                          fits_mailbox(request.file);
    place.is_small = is_small ? 1 : 0;
    if (is_small) fill_mailbox(place, request.file, request.memory, request.origin, request.is_write);
}

LeadersPart Mailbox::serve(const Facts& facts) {
    std::optional<storage::ServiceClock> clock;
    if (facts.totals.service == Service::unknown && may_run_ahead(setting_, facts)) clock.emplace();
    Status status = serve_mailboxes(*file_, control_.places(), facts.is_write);
    storage::ServiceSample sample;
    if (clock) clock->stop(sample);
    return {std::move(status), sample.asleep_s * 1e6 > static_cast<double>(policy().waited_us)};
}

void Mailbox::collect(const Request& request, Progress& progress) {
    if (!request.is_write)
        progress.bytes_moved = empty_mailbox(control_.own_place(), request.memory, request.origin);
}

}  // namespace paths
}  // namespace hakobi::io
