// Objects of a bucket of Amazon's S3, or of a server that speaks its protocol (MinIO, Ceph's gateway,
// Versity's).
//
// The protocol leaves some things to its clients. They are done here as follows:
//  1. A request whose answer is lost may have been carried out, and is repeated: by us or, where a kept
//     connection ends, by curl, which does not tell. Repeating is harmless but for what must happen once: a
//     conditional put carries a random word, by which its own object is told from another's when the repeated
//     one finds the name taken; a completed upload is known by its ETag.
//  2. A server that ignores If-None-Match or If-Match would overwrite. Before its first conditional put a
//     process creates an object of its own twice, and puts over it with a wrong ETag: the second and the
//     third must be refused.
//  3. Bytes are protected by CRC-32C both ways: the server checks what it gets, we check what is read whole.
//     Where a server wants MD5 as well (object locks), it says so, and gets it from then on.
//  4. An object that is replaced while it is read in ranges: each range asks for the ETag of the first
//     (If-Match).
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/crc32c.hpp"
#include "base/md5.hpp"
#include "base/random.hpp"
#include "storage/objects/s3_client.hpp"
#include "storage/objects/stores.hpp"
#include "storage/objects/xml.hpp"

namespace hakobi::storage {
namespace {

// docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
constexpr ObjectAbilities s3_abilities = {.kind = "s3",
                                          .max_object_bytes = std::int64_t{5} << 30,
                                          .min_part_bytes = std::int64_t{5} << 20,
                                          .max_part_bytes = std::int64_t{5} << 30,
                                          .max_parts = 10'000,
                                          .num_requests = 8};

std::string base64(std::span<const std::byte> bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t num = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t bits = 0;
        for (std::size_t b = 0; b < 3; ++b)
            bits = bits << 8 | (b < num ? std::to_integer<std::uint32_t>(bytes[i + b]) : 0);
        for (std::size_t d = 0; d < 4; ++d) text += d <= num ? digits[bits >> (18 - 6 * d) & 63] : '=';
    }
    return text;
}

std::string crc_text(std::uint32_t crc) {
    const std::array<std::byte, 4> bytes = {std::byte(crc >> 24), std::byte(crc >> 16), std::byte(crc >> 8),
                                            std::byte(crc)};
    return base64(bytes);
}

std::int64_t number_of(std::string_view text) {
    std::int64_t number = -1;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string without_quotes(std::string text) {
    std::erase(text, '"');
    return text;
}

/// A part's ETag and, where there is one, its checksum: completing an upload names both.
std::string tag_of(const std::string& etag, const std::string& checksum) {
    return without_quotes(etag) + (checksum.empty() ? "" : " " + checksum);
}

/// The ETag that an upload of these parts has when it is complete.
std::string etag_of_parts(std::span<const UploadedPart> parts) {
    std::vector<std::byte> digests;
    for (const UploadedPart& part : parts) {
        for (std::size_t i = 0; i + 1 < std::min(part.tag.size(), part.tag.find(' ')); i += 2) {
            unsigned value = 0;
            std::from_chars(part.tag.data() + i, part.tag.data() + i + 2, value, 16);
            digests.push_back(std::byte(value));
        }
    }
    std::string text;
    for (const std::byte byte : md5(digests)) {
        std::array<char, 3> two{};
        std::snprintf(two.data(), two.size(), "%02x", std::to_integer<unsigned>(byte));
        text += two.data();
    }
    return text + "-" + std::to_string(parts.size());
}

class S3Objects final : public Objects {
  public:
    S3Objects(std::string root, std::string prefix, const Curl& curl, S3Settings settings, std::string bucket)
        : root_(std::move(root)),
          prefix_(std::move(prefix)),
          client_(curl, std::move(settings), std::move(bucket)) {}

    Status put(const std::string& name, std::span<const std::byte> bytes, const PutMode& mode) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        if (std::ssize(bytes) > s3_abilities.max_object_bytes)
            return {ErrorCode::invalid_argument,
                    place(name) + ": more than 5 GiB go by an upload in parts only"};
        S3Request request = {.method = "PUT",
                             .key = prefix_ + name,
                             .headers = checksums(bytes),
                             .body = bytes,
                             .what = what("write", name)};
        const std::string word = random_name();
        if (mode.only_if_absent) {
            if (Status status = check_conditions(request.what); !status.ok()) return status;
            request.headers.emplace_back("if-none-match: *");
            request.headers.push_back("x-amz-meta-hakobi-put: " + word);
        }
        const auto is_own = [&](const S3Answer& there) {
            return there.header("x-amz-meta-hakobi-put") == word;
        };
        Result<S3Answer> sent = send_with_checksums(request);
        if (!sent.ok()) return sent.status();
        if (sent.value().http_status == 412) return is_ours(request, sent.value(), is_own);
        if (!sent.value().ok()) return client_.failure(request, sent.value());
        return {};
    }

    Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                const std::string& version) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        S3Request request = {.method = "PUT",
                             .key = prefix_ + name,
                             .headers = checksums(bytes),
                             .body = bytes,
                             .what = what("write", name)};
        if (Status status = check_conditions(request.what); !status.ok()) return status;
        const std::string word = random_name();
        request.headers.push_back(version.empty() ? "if-none-match: *" : "if-match: \"" + version + "\"");
        request.headers.push_back("x-amz-meta-hakobi-put: " + word);
        Result<S3Answer> sent = send_with_checksums(request);
        if (!sent.ok()) return sent.status();
        const S3Answer& answer = sent.value();
        if (answer.ok()) return without_quotes(answer.header("etag"));
        // Where an earlier one of several tries was carried out, the last is refused.
        if (answer.http_status != 412 && answer.http_status != 404) return client_.failure(request, answer);
        const Result<S3Answer> there =
            client_.send({.method = "HEAD", .key = request.key, .what = request.what});
        if (!there.ok()) return there.status();
        if (there.value().ok() && there.value().header("x-amz-meta-hakobi-put") == word)
            return without_quotes(there.value().header("etag"));
        if (answer.http_status == 404 && answer.code == "NoSuchBucket")
            return client_.failure(request, answer);
        return replaced_before(place(name));
    }

    Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into,
                             const GetMode& mode) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        if (offset < 0) return Status(ErrorCode::invalid_argument, place(name) + ": a negative offset");
        std::string version = mode.version;
        std::int64_t total = 0;
        while (total < std::ssize(into)) {
            const std::int64_t begin = offset + total;
            S3Request request = {.key = prefix_ + name, .what = what("read", name)};
            request.into = into.subspan(static_cast<std::size_t>(total));
            request.headers = {"range: bytes=" + std::to_string(begin) + "-" +
                               std::to_string(offset + std::ssize(into) - 1)};
            if (!version.empty()) request.headers.push_back("if-match: \"" + version + "\"");
            Result<S3Answer> sent = client_.send(request);
            if (!sent.ok()) return sent.status();
            const S3Answer& answer = sent.value();
            if (answer.http_status == 416) break;  // at the end, or behind it
            if (answer.http_status == 412)
                return Status(ErrorCode::io, place(name) + " has been replaced since it was opened");
            if (!answer.ok()) return client_.failure(request, answer);
            if (answer.http_status == 200 && begin > 0)
                return Status(ErrorCode::unsupported,
                              what("read", name) + ": the server does not send ranges");
            if (Status status = check_range_of(answer, begin, name); !status.ok()) return status;
            if (version.empty()) version = without_quotes(answer.header("etag"));
            total += answer.num_bytes;
            const std::int64_t size = object_bytes(answer);
            if (size >= 0 && offset + total >= size) {
                if (offset == 0) return checked(answer, into.first(static_cast<std::size_t>(total)), name);
                break;
            }
            if (answer.num_bytes == 0)
                return Status(ErrorCode::io, what("read", name) + ": the server sent no bytes");
        }
        return total;
    }

    Result<ObjectFacts> facts(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        S3Request request = {.method = "HEAD", .key = prefix_ + name, .what = what("find", name)};
        Result<S3Answer> sent = client_.send(request);
        if (!sent.ok()) return sent.status();
        const S3Answer& answer = sent.value();
        if (!answer.ok()) return why_not(request, answer);
        is_bucket_known_ = true;
        const std::int64_t size_bytes = number_of(answer.header("content-length"));
        if (size_bytes < 0) return Status(ErrorCode::io, request.what + ": the server does not say its size");
        return ObjectFacts{size_bytes, without_quotes(answer.header("etag")),
                           time_ns_of(answer.header("last-modified"))};
    }

    Result<Listing> list(const ListMode& mode) override {
        Listing listing;
        S3Request request = {.what = "cannot list " + root_};
        std::string token;
        std::int64_t num_left = mode.max_entries > 0 ? mode.max_entries : std::int64_t{1} << 60;
        do {
            request.query = {{"list-type", "2"},
                             {"encoding-type", "url"},
                             {"prefix", prefix_ + mode.prefix},
                             // One more: a prefix that the start lies in comes again.
                             {"max-keys", std::to_string(std::min<std::int64_t>(1000, num_left + 1))}};
            if (!mode.delimiter.empty()) request.query.emplace_back("delimiter", mode.delimiter);
            if (!mode.start_after.empty())
                request.query.emplace_back("start-after", prefix_ + mode.start_after);
            if (!token.empty()) request.query.emplace_back("continuation-token", token);
            Result<S3Answer> sent = client_.send(request);
            if (!sent.ok()) return sent.status();
            if (!sent.value().ok()) return client_.failure(request, sent.value());
            const std::string& xml = sent.value().text;
            if (!xml_element(xml, "ListBucketResult"))
                return Status(ErrorCode::io, request.what + ": what the server sent is no listing");
            num_left -= take_entries(xml, mode, num_left, listing);
            const std::string before = std::exchange(token, "");
            if (xml_text(xml, "IsTruncated") == "true") token = xml_text(xml, "NextContinuationToken");
            if (!token.empty() && token == before) return repeats_itself(request);
            if (num_left == 0 && !token.empty()) listing.is_whole = false;
        } while (!token.empty() && num_left > 0);
        is_bucket_known_ = true;
        return listing;
    }

    Status remove(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        S3Request request = {.method = "DELETE", .key = prefix_ + name, .what = what("remove", name)};
        Result<S3Answer> sent = client_.send(request);
        if (!sent.ok()) return sent.status();
        if (sent.value().ok() || sent.value().code == "NoSuchKey") return {};
        return client_.failure(request, sent.value());
    }

    Result<std::string> begin_upload(const std::string& name) override {
        if (Status status = check_object_name(name); !status.ok()) return status;
        S3Request request = {
            .method = "POST", .key = prefix_ + name, .query = {{"uploads", ""}}, .what = what("write", name)};
        if (!wants_md5_) request.headers.emplace_back("x-amz-checksum-algorithm: CRC32C");
        Result<S3Answer> sent = client_.send(request);
        if (!sent.ok()) return sent.status();
        if (!sent.value().ok()) return client_.failure(request, sent.value());
        std::string id = xml_text(sent.value().text, "UploadId");
        if (id.empty()) return Status(ErrorCode::io, request.what + ": the server began no upload");
        return id;
    }

    Result<UploadedPart> put_part(const std::string& name, const std::string& upload, int number,
                                  std::span<const std::byte> bytes) override {
        S3Request request = {.method = "PUT",
                             .key = prefix_ + name,
                             .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload}},
                             .headers = checksums(bytes),
                             .body = bytes,
                             .what = what("write part " + std::to_string(number) + " of", name)};
        Result<S3Answer> sent = send_with_checksums(request);
        if (!sent.ok()) return sent.status();
        if (!sent.value().ok()) return client_.failure(request, sent.value());
        return UploadedPart{number,
                            tag_of(sent.value().header("etag"), sent.value().header("x-amz-checksum-crc32c")),
                            std::ssize(bytes)};
    }

    Result<std::vector<UploadedPart>> parts(const std::string& name, const std::string& upload) override {
        std::vector<UploadedPart> all;
        S3Request request = {.key = prefix_ + name, .what = what("list the parts of", name)};
        std::string marker;
        do {
            request.query = {{"uploadId", upload}, {"max-parts", "1000"}};
            if (!marker.empty()) request.query.emplace_back("part-number-marker", marker);
            Result<S3Answer> sent = client_.send(request);
            if (!sent.ok()) return sent.status();
            if (!sent.value().ok()) return client_.failure(request, sent.value());
            const std::string& xml = sent.value().text;
            for (const std::string_view part : xml_elements(xml, "Part")) {
                all.push_back({static_cast<int>(number_of(xml_text(part, "PartNumber"))),
                               tag_of(xml_text(part, "ETag"), xml_text(part, "ChecksumCRC32C")),
                               number_of(xml_text(part, "Size"))});
            }
            const std::string before = std::exchange(marker, "");
            if (xml_text(xml, "IsTruncated") == "true") marker = xml_text(xml, "NextPartNumberMarker");
            if (!marker.empty() && marker == before) return repeats_itself(request);
        } while (!marker.empty());
        std::ranges::sort(all, {}, &UploadedPart::number);
        return all;
    }

    Status complete_upload(const std::string& name, const std::string& upload,
                           std::span<const UploadedPart> parts, const PutMode& mode) override {
        std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
        for (const UploadedPart& part : parts) {
            const std::size_t space = part.tag.find(' ');
            body += "<Part><PartNumber>" + std::to_string(part.number) + "</PartNumber><ETag>&quot;" +
                    xml_escaped(part.tag.substr(0, space)) + "&quot;</ETag>";
            if (space != std::string::npos)
                body += "<ChecksumCRC32C>" + part.tag.substr(space + 1) + "</ChecksumCRC32C>";
            body += "</Part>";
        }
        body += "</CompleteMultipartUpload>";
        S3Request request = {.method = "POST",
                             .key = prefix_ + name,
                             .query = {{"uploadId", upload}},
                             .headers = {"content-type: application/xml"},
                             .body = std::as_bytes(std::span(body)),
                             .what = what("complete", name)};
        // Servers that complete an upload without looking at the condition are older than it: what is there
        // is spared as far as a look beforehand goes.
        if (mode.only_if_absent) {
            request.headers.emplace_back("if-none-match: *");
            const Result<ObjectFacts> there = facts(name);
            if (there.ok()) return {ErrorCode::exists, request.what + ": it exists"};
            if (there.status().code() != ErrorCode::not_found) return there.status();
        }
        Result<S3Answer> sent = client_.send(request);
        if (!sent.ok()) return sent.status();
        const S3Answer& answer = sent.value();
        if (answer.ok()) return {};
        if (answer.http_status == 404 || answer.http_status == 412) {
            const std::string etag = etag_of_parts(parts);
            return is_ours(request, answer, [&](const S3Answer& there) {
                return without_quotes(there.header("etag")) == etag;
            });
        }
        return client_.failure(request, answer);
    }

    Status abort_upload(const std::string& name, const std::string& upload) override {
        S3Request request = {.method = "DELETE",
                             .key = prefix_ + name,
                             .query = {{"uploadId", upload}},
                             .what = what("give up", name)};
        Result<S3Answer> sent = client_.send(request);
        if (!sent.ok()) return sent.status();
        if (sent.value().ok() || sent.value().code == "NoSuchUpload") return {};
        return client_.failure(request, sent.value());
    }

    Result<std::vector<OpenUpload>> uploads(const std::string& prefix) override {
        std::vector<OpenUpload> open;
        S3Request request = {.what = "cannot list the uploads of " + root_};
        std::string key_marker, id_marker;
        do {
            request.query = {{"uploads", ""}, {"encoding-type", "url"}, {"prefix", prefix_ + prefix}};
            if (!key_marker.empty()) request.query.emplace_back("key-marker", key_marker);
            if (!id_marker.empty()) request.query.emplace_back("upload-id-marker", id_marker);
            Result<S3Answer> sent = client_.send(request);
            if (!sent.ok()) return sent.status();
            if (!sent.value().ok()) return client_.failure(request, sent.value());
            const std::string& xml = sent.value().text;
            const bool is_encoded = xml_text(xml, "EncodingType") == "url";
            for (const std::string_view upload : xml_elements(xml, "Upload")) {
                std::string key = xml_text(upload, "Key");
                if (is_encoded) key = percent_decoded(key);
                if (key.starts_with(prefix_ + prefix))
                    open.push_back({key.substr(prefix_.size()), xml_text(upload, "UploadId")});
            }
            const auto before = std::pair(std::exchange(key_marker, ""), std::exchange(id_marker, ""));
            if (xml_text(xml, "IsTruncated") == "true") {
                key_marker = xml_text(xml, "NextKeyMarker");
                id_marker = xml_text(xml, "NextUploadIdMarker");
            }
            if (!key_marker.empty() && std::pair(key_marker, id_marker) == before)
                return repeats_itself(request);
        } while (!key_marker.empty());
        return open;
    }

    [[nodiscard]] const ObjectAbilities& abilities() const noexcept override { return s3_abilities; }
    [[nodiscard]] const std::string& root() const noexcept override { return root_; }

  private:
    [[nodiscard]] std::string place(const std::string& name) const { return root_ + "/" + name; }
    [[nodiscard]] std::string what(const std::string& verb, const std::string& name) const {
        return "cannot " + verb + " " + place(name);
    }

    [[nodiscard]] std::vector<std::string> checksums(std::span<const std::byte> bytes) const {
        if (wants_md5_) return {"content-md5: " + base64(md5(bytes))};
        return {"x-amz-checksum-crc32c: " + crc_text(crc32c(bytes))};
    }
    /// A listing whose next page is the same one would never end.
    static Status repeats_itself(const S3Request& request) {
        return {ErrorCode::io, request.what + ": the server sends the same page again and again"};
    }
    /// Again with MD5, where the server asks for it.
    Result<S3Answer> send_with_checksums(S3Request& request) {
        Result<S3Answer> sent = client_.send(request);
        if (!sent.ok() || wants_md5_ || sent.value().ok()) return sent;
        const std::string& text = sent.value().text;
        const bool asks = sent.value().http_status == 400 && text.find("Content-MD5") != std::string::npos;
        if (!asks) return sent;
        wants_md5_ = true;
        request.headers.front() = checksums(request.body).front();
        return client_.send(request);
    }

    /// After a refusal: the request may have been carried out before it was repeated.
    template <class IsOwn>
    Status is_ours(const S3Request& request, const S3Answer& refused, const IsOwn& is_own) {
        const Result<S3Answer> there =
            client_.send({.method = "HEAD", .key = request.key, .what = request.what});
        if (!there.ok()) return there.status();
        if (there.value().ok() && is_own(there.value())) return {};
        return client_.failure(request, refused);
    }
    /// Whether the server heeds If-None-Match, found out once.
    Status check_conditions(const std::string& what) {
        if (is_conditional_known_) return {};
        S3Request probe = {.method = "PUT",
                           .key = prefix_ + ".hakobi-probe-" + random_name(),
                           .headers = {"if-none-match: *"},
                           .what = what};
        const Result<S3Answer> first = client_.send(probe);
        if (!first.ok()) return first.status();
        if (!first.value().ok() && first.value().http_status != 412)
            return client_.failure(probe, first.value());
        const Result<S3Answer> second = client_.send(probe);
        probe.headers = {"if-match: \"00000000000000000000000000000000\""};
        const Result<S3Answer> third = client_.send(probe);
        (void)client_.send({.method = "DELETE", .key = probe.key, .what = what});
        if (!second.ok()) return second.status();
        if (!third.ok()) return third.status();
        if (second.value().http_status != 412 || third.value().ok()) {
            return {ErrorCode::unsupported, what + ": the server ignores " +
                                                (third.value().ok() ? "If-Match" : "If-None-Match") +
                                                ", so that nothing would protect what is there; "
                                                "this needs one that puts objects conditionally"};
        }
        is_conditional_known_ = true;
        return {};
    }

    /// A HEAD's error has no text: a listing's has.
    Status why_not(const S3Request& request, const S3Answer& answer) {
        if (answer.http_status == 404 && is_bucket_known_) return client_.failure(request, answer);
        const S3Request look = {.query = {{"list-type", "2"}, {"max-keys", "1"}, {"prefix", prefix_}},
                                .what = request.what};
        const Result<S3Answer> looked = client_.send(look);
        if (!looked.ok()) return looked.status();
        if (!looked.value().ok()) return client_.failure(look, looked.value());
        is_bucket_known_ = true;
        return client_.failure(request, answer);
    }

    static std::int64_t object_bytes(const S3Answer& answer) {
        if (answer.http_status == 200) return number_of(answer.header("content-length"));
        const std::string range = answer.header("content-range");  // bytes 0-99/1234
        const std::size_t slash = range.find('/');
        return slash == std::string::npos ? -1 : number_of(std::string_view(range).substr(slash + 1));
    }
    [[nodiscard]] Status check_range_of(const S3Answer& answer, std::int64_t begin,
                                        const std::string& name) const {
        const std::string range = answer.header("content-range");
        const std::string expected = "bytes " + std::to_string(begin) + "-";
        if (answer.http_status != 206 || range.empty() || range.starts_with(expected)) return {};
        return {ErrorCode::io, what("read", name) + ": the server sent '" + range + "' for bytes from " +
                                   std::to_string(begin)};
    }
    /// An object that was read whole in one answer against the checksum that came with it.
    [[nodiscard]] Result<std::int64_t> checked(const S3Answer& answer, std::span<const std::byte> bytes,
                                               const std::string& name) const {
        const std::string sum = answer.header("x-amz-checksum-crc32c");
        const bool is_of_all = !sum.empty() && sum.find('-') == std::string::npos &&
                               answer.num_bytes == std::ssize(bytes) &&
                               answer.header("x-amz-checksum-type") != "COMPOSITE";
        if (is_of_all && sum != crc_text(crc32c(bytes)))
            return Status(ErrorCode::io, what("read", name) + ": its bytes do not have its checksum");
        return std::ssize(bytes);
    }

    /// Returns how many entries of a page were taken, at most `most`.
    std::int64_t take_entries(std::string_view xml, const ListMode& mode, std::int64_t most,
                              Listing& listing) const {
        const bool is_encoded = xml_text(xml, "EncodingType") == "url";
        const auto name_of = [&](std::string_view element, std::string_view tag) {
            std::string key = xml_text(element, tag);
            if (is_encoded) key = percent_decoded(key);
            return key.starts_with(prefix_) ? key.substr(prefix_.size()) : std::string();
        };
        std::vector<ListedObject> objects;
        for (const std::string_view element : xml_elements(xml, "Contents")) {
            std::string name = name_of(element, "Key");
            if (name.empty() || name <= mode.start_after || name.ends_with('/') ||
                name.starts_with(".hakobi-"))
                continue;
            objects.push_back(
                {std::move(name),
                 {number_of(xml_text(element, "Size")), without_quotes(xml_text(element, "ETag")),
                  time_ns_of(xml_text(element, "LastModified"))}});
        }
        std::vector<std::string> prefixes;
        for (const std::string_view element : xml_elements(xml, "CommonPrefixes")) {
            std::string name = name_of(element, "Prefix");
            if (!name.empty() && name > mode.start_after) prefixes.push_back(std::move(name));
        }
        std::int64_t num = 0;
        std::size_t o = 0, p = 0;
        while (num < most && (o < objects.size() || p < prefixes.size())) {
            if (p == prefixes.size() || (o < objects.size() && objects[o].name < prefixes[p])) {
                listing.objects.push_back(std::move(objects[o++]));
            } else {
                listing.prefixes.push_back(std::move(prefixes[p++]));
            }
            ++num;
        }
        if (o < objects.size() || p < prefixes.size()) listing.is_whole = false;
        return num;
    }

    std::string root_, prefix_;
    S3Client client_;
    std::atomic<bool> wants_md5_ = false, is_conditional_known_ = false, is_bucket_known_ = false;
};

Status check_bucket(const std::string& bucket) {
    const auto is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    };
    const bool is_name = bucket.size() >= 3 && bucket.size() <= 63 &&
                         std::ranges::all_of(bucket, is_allowed) && bucket.front() != '-' &&
                         bucket.back() != '-' && bucket.front() != '.' && bucket.back() != '.';
    if (is_name) return {};
    return {ErrorCode::invalid_argument,
            "'" + bucket + "' is no bucket's name: 3 to 63 small letters, digits, dots and hyphens"};
}

}  // namespace

Result<ObjectsPtr> open_s3_objects(const std::string& root) {
    std::string rest = root;
    rest.erase(0, rest.find_first_not_of('/'));
    while (rest.ends_with('/')) rest.pop_back();
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string bucket = rest.substr(0, slash);
    std::string prefix = slash < rest.size() ? rest.substr(slash + 1) : "";
    if (Status status = check_bucket(bucket); !status.ok()) return status;
    if (!prefix.empty()) {
        if (Status status = check_object_name(prefix); !status.ok()) return status;
        if (prefix.size() > 120)
            return Status(ErrorCode::invalid_argument, "s3://" + rest + ": a prefix has at most 120 bytes");
        prefix += "/";
    }
    Result<S3Settings> settings = S3Settings::find(bucket);
    if (!settings.ok())
        return Status(settings.status().code(), "s3://" + rest + ": " + settings.status().text());
    Result<const Curl*> curl = Curl::get();
    if (!curl.ok()) return Status(curl.status().code(), "s3://" + rest + ": " + curl.status().text());
    return ObjectsPtr(std::make_shared<S3Objects>("s3://" + rest, std::move(prefix), *curl.value(),
                                                  std::move(settings).value(), bucket));
}

}  // namespace hakobi::storage
