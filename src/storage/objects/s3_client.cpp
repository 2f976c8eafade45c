#include "storage/objects/s3_client.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>

#include "base/checked.hpp"
#include "base/classic_locale.hpp"
#include "storage/objects/retry.hpp"
#include "storage/objects/xml.hpp"

namespace hakobi::storage {
namespace {

constexpr long connect_timeout_ms = 10'000;
// A connection that carries less than this for so long is taken for dead.
constexpr long slowest_bytes_s = 1, slowest_for_s = 30;
// 7.88's default of 16 KiB (64 KiB sending) costs a fifth of the throughput on a fast link.
constexpr long buffer_bytes = 512 * 1024;
constexpr std::size_t most_text_bytes = std::size_t{64} << 20;

/// Statuses and codes that another try may not meet.
bool passes(const S3Answer& answer) {
    constexpr std::array<long, 6> statuses = {408, 429, 500, 502, 503, 504};
    // The last is what Versity's gateway answers to one of several puts of a name at once.
    constexpr std::array<std::string_view, 8> codes = {"RequestTimeout",   "SlowDown",
                                                       "InternalError",    "BadDigest",
                                                       "IncompleteBody",   "ConditionalRequestConflict",
                                                       "OperationAborted", "ExistingObjectIsDirectory"};
    return std::ranges::find(statuses, answer.http_status) != statuses.end() ||
           (!answer.ok() && std::ranges::find(codes, answer.code) != codes.end());
}

/// Errors of curl that no other try cures.
bool is_final(int error) {
    constexpr std::array finals = {Curl::unsupported_protocol, Curl::bad_url,        Curl::not_built_in,
                                   Curl::out_of_memory,        Curl::unknown_option, Curl::unverified_peer,
                                   Curl::bad_certificate_file};
    return std::ranges::find(finals, error) != finals.end();
}

std::string lowered(std::string_view text) {
    std::string low(text);
    std::ranges::transform(low, low.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return low;
}

/// By how many seconds this clock is ahead of the server's.
double clock_difference_s(const S3Answer& answer) {
    const std::int64_t servers_s = time_s_of(answer.header("date"));
    return servers_s == 0 ? 0 : std::difftime(std::time(nullptr), static_cast<std::time_t>(servers_s));
}

}  // namespace

std::int64_t time_s_of(const std::string& date) {
    const ClassicLocale classic;
    std::tm time{};
    if (::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S", &time) == nullptr &&
        ::strptime(date.c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr)
        return 0;
    return ::timegm(&time);
}

std::int64_t time_ns_of(const std::string& date) {
    return checked_multiply(time_s_of(date), 1'000'000'000).value_or(0);
}

/// The state of a try for curl's callbacks.
struct S3Client::Exchange {
    const S3Request* request = nullptr;
    S3Answer answer;
    std::size_t num_sent = 0;
    std::array<char, Curl::error_text_bytes> error = {};

    static std::size_t take(char* data, std::size_t one, std::size_t length, void* self) {
        auto& exchange = *static_cast<Exchange*>(self);
        (void)one;
        const std::span<std::byte> into = exchange.request->into;
        if (into.empty() || !exchange.answer.ok()) {
            if (exchange.answer.text.size() + length > most_text_bytes) return 0;
            exchange.answer.text.append(data, length);
            return length;
        }
        const auto filled = static_cast<std::size_t>(exchange.answer.num_bytes);
        const std::size_t taken = std::min(length, into.size() - filled);
        std::memcpy(into.data() + filled, data, taken);
        exchange.answer.num_bytes += static_cast<std::int64_t>(taken);
        return taken;
    }
    static std::size_t give(char* data, std::size_t one, std::size_t length, void* self) {
        auto& exchange = *static_cast<Exchange*>(self);
        const std::span<const std::byte> left = exchange.request->body.subspan(exchange.num_sent);
        const std::size_t given = std::min(one * length, left.size());
        if (given > 0) std::memcpy(data, left.data(), given);
        exchange.num_sent += given;
        return given;
    }
    static int seek(void* self, std::int64_t offset, int origin) {
        auto& exchange = *static_cast<Exchange*>(self);
        if (origin != SEEK_SET) return 1;
        exchange.num_sent = static_cast<std::size_t>(offset);
        return 0;
    }
    static std::size_t take_header(char* data, std::size_t one, std::size_t length, void* self) {
        auto& exchange = *static_cast<Exchange*>(self);
        std::string_view line(data, one * length);
        if (line.starts_with("HTTP/")) {  // the last of several answers counts (100, 200)
            exchange.answer.headers.clear();
            line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
            exchange.answer.http_status = 0;
            std::from_chars(line.data(), line.data() + line.size(), exchange.answer.http_status);
            return length;
        }
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos) return length;
        std::string_view value = line.substr(colon + 1);
        while (!value.empty() && (value.back() == '\r' || value.back() == '\n' || value.back() == ' '))
            value.remove_suffix(1);
        while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
        exchange.answer.headers[lowered(line.substr(0, colon))] = value;
        return length;
    }
};

std::string S3Answer::header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
}

std::string percent_encoded(std::string_view text, bool keeps_slash) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                              c == '-' || c == '.' || c == '_' || c == '~' || (keeps_slash && c == '/');
        if (is_plain) {
            encoded += c;
        } else {
            encoded += '%';
            encoded += digits[static_cast<unsigned char>(c) >> 4];
            encoded += digits[static_cast<unsigned char>(c) & 15];
        }
    }
    return encoded;
}

std::string percent_decoded(std::string_view text) {
    const auto value = [](char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; };
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size()) {
            decoded += static_cast<char>(value(text[i + 1]) << 4 | value(text[i + 2]));
            i += 2;
        } else {
            decoded += text[i] == '+' ? ' ' : text[i];
        }
    }
    return decoded;
}

S3Client::S3Client(const Curl& curl, S3Settings settings, std::string bucket)
    : curl_(curl), settings_(std::move(settings)), bucket_(std::move(bucket)) {}

S3Client::~S3Client() {
    for (Curl::Easy* easy : idle_) curl_.cleanup(easy);
}

Curl::Easy* S3Client::take_connection() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return curl_.init();
    Curl::Easy* const easy = idle_.back();
    idle_.pop_back();
    return easy;
}

void S3Client::give_back(Curl::Easy* easy) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(easy);
}

std::string S3Client::url_of(const S3Request& request) const {
    std::string url;
    if (settings_.is_path_style) {
        url = settings_.endpoint + "/" + bucket_;
    } else {
        const std::size_t host = settings_.endpoint.find("://") + 3;
        url = settings_.endpoint.substr(0, host) + bucket_ + "." + settings_.endpoint.substr(host);
    }
    url += "/" + percent_encoded(request.key, true);
    // In the order that the signature wants, which old versions of curl do not make.
    std::vector<std::string> query;
    for (const auto& [name, value] : request.query)
        query.push_back(percent_encoded(name) + "=" + percent_encoded(value));
    std::ranges::sort(query);
    for (std::size_t i = 0; i < query.size(); ++i) url += (i == 0 ? "?" : "&") + query[i];
    return url;
}

int S3Client::exchange_once(Curl::Easy* easy, const S3Request& request, Exchange& exchange) {
    curl_.reset(easy);  // keeps its connections
    exchange = {};
    exchange.request = &request;
    const std::string url = url_of(request);
    const std::string signing = "aws:amz:" + settings_.region + ":s3";
    const std::string_view method = request.method;
    std::vector<std::string> headers = request.headers;
    headers.emplace_back("Expect:");
    const bool is_signed = !settings_.access_key.empty();
    if (is_signed)
        headers.emplace_back("x-amz-content-sha256: UNSIGNED-PAYLOAD");  // checksums protect the body
    if (is_signed && !settings_.session_token.empty())
        headers.push_back("x-amz-security-token: " + settings_.session_token);
    Curl::List* list = nullptr;
    for (const std::string& header : headers) list = curl_.append(list, header.c_str());

    const auto set = [&](int option, auto value) { (void)curl_.set(easy, option, value); };
    set(Curl::url, url.c_str());
    set(Curl::path_as_is, 1L);
    set(Curl::http_version, Curl::http_1_1);
    set(Curl::headers, list);
    set(Curl::user_agent, "hakobi");
    set(Curl::no_signal, 1L);
    set(Curl::connect_timeout_ms, connect_timeout_ms);
    set(Curl::low_speed_limit, slowest_bytes_s);
    set(Curl::low_speed_time, slowest_for_s);
    set(Curl::error_buffer, exchange.error.data());
    set(Curl::write_function, &Exchange::take);
    set(Curl::write_data, static_cast<void*>(&exchange));
    set(Curl::header_function, &Exchange::take_header);
    set(Curl::header_data, static_cast<void*>(&exchange));
    set(Curl::buffer_bytes, buffer_bytes);
    if (!settings_.ca_file.empty()) set(Curl::ca_file, settings_.ca_file.c_str());
    if (is_signed) {
        set(Curl::aws_sigv4, signing.c_str());
        set(Curl::user_name, settings_.access_key.c_str());
        set(Curl::password, settings_.secret_key.c_str());
    }
    if (method == "HEAD") set(Curl::no_body, 1L);
    if (method == "PUT") {
        set(Curl::upload, 1L);
        set(Curl::upload_buffer_bytes, buffer_bytes);
        set(Curl::read_function, &Exchange::give);
        set(Curl::read_data, static_cast<void*>(&exchange));
        set(Curl::seek_function, &Exchange::seek);
        set(Curl::seek_data, static_cast<void*>(&exchange));
        set(Curl::in_file_size, std::int64_t{std::ssize(request.body)});
    }
    if (method == "POST") {
        set(Curl::post, 1L);
        set(Curl::post_fields,
            request.body.empty() ? "" : reinterpret_cast<const char*>(request.body.data()));
        set(Curl::post_field_size, std::int64_t{std::ssize(request.body)});
    }
    if (method == "DELETE") set(Curl::custom_request, "DELETE");
    const int error = curl_.perform(easy);
    curl_.free_list(list);
    if (error == Curl::ok) has_answered_ = true;
    exchange.answer.code = exchange.answer.ok() ? "" : xml_text(exchange.answer.text, "Code");
    // Completing an upload begins its answer before it knows the end: an error may come under 200.
    if (exchange.answer.ok() && method == "POST" && xml_element(exchange.answer.text, "Error")) {
        exchange.answer.code = xml_text(exchange.answer.text, "Code");
        exchange.answer.http_status = 500;
    }
    return error;
}

Result<S3Answer> S3Client::send(const S3Request& request) {
    Curl::Easy* const easy = take_connection();
    if (easy == nullptr)
        return Status(ErrorCode::out_of_memory, request.what + ": no memory for a connection");
    Retry retry(Retry::patience(), settings_.endpoint);
    Exchange exchange;
    for (;;) {
        const double before_s = retry.waited_s();
        const int error = exchange_once(easy, request, exchange);
        // One that takes a connection and is silent is there, and stands still.
        if (retry.waited_s() - before_s >= slowest_for_s) has_answered_ = true;
        S3Answer& answer = exchange.answer;
        const bool is_answer = error == Curl::ok;
        if (is_answer && !passes(answer)) break;
        if (!is_answer && is_final(error)) break;
        // Bytes that have arrived are not asked for again: the caller goes on behind them.
        if (!is_answer && answer.ok() && answer.num_bytes > 0) break;
        if (retry.wait(is_answer, has_answered_)) continue;
        give_back(easy);
        if (is_answer) {
            const Status refused = failure(request, answer);
            return Status(refused.code(),
                          refused.text() + " (" + std::to_string(retry.num_tries()) + " tries)");
        }
        const std::string why = exchange.error[0] != '\0' ? exchange.error.data() : curl_.error_text(error);
        return Status(ErrorCode::io, request.what + ": " + settings_.without_secrets(why) + " (" +
                                         std::to_string(retry.num_tries()) + " tries in " +
                                         std::to_string(static_cast<int>(retry.waited_s())) + " s)");
    }
    const int error = exchange.answer.http_status == 0 ? 1 : 0;
    if (error != 0) {
        const std::string why = exchange.error.data();
        give_back(easy);
        return Status(ErrorCode::io, request.what + ": " + settings_.without_secrets(why));
    }
    give_back(easy);
    return std::move(exchange.answer);
}

Status S3Client::failure(const S3Request& request, const S3Answer& answer) const {
    const std::string& code = answer.code;
    const auto is = [&](std::string_view each) { return code == each; };
    const auto say = [&](ErrorCode error, const std::string& why) {
        return Status(error, request.what + ": " + why);
    };
    const std::string where = " (" + settings_.endpoint + ")";
    if (is("NoSuchBucket")) return say(ErrorCode::not_found, "there is no bucket '" + bucket_ + "'" + where);
    if (is("NoSuchUpload")) return say(ErrorCode::not_found, "the upload is complete or given up");
    const bool is_unknown =
        is("InvalidAccessKeyId") || is("XAdminUserNotFound");  // the latter: Versity's, under 404
    if (is_unknown || is("SignatureDoesNotMatch") || is("ExpiredToken") || is("InvalidToken")) {
        const std::string why = is("ExpiredToken") ? "the credentials have expired"
                                : is_unknown
                                    ? "the server does not know the access key"
                                    : "the secret key does not belong to the access key, or the region ('" +
                                          settings_.region + "') is not the server's";
        return say(ErrorCode::permission, "wrong credentials: " + why + where);
    }
    if (is("RequestTimeTooSkewed") || is("RequestExpired")) {
        const auto seconds = static_cast<long>(clock_difference_s(answer));
        return say(ErrorCode::permission, "this machine's clock differs from the server's by " +
                                              std::to_string(seconds < 0 ? -seconds : seconds) +
                                              " s, and the server refuses that" + where);
    }
    if (is("AuthorizationHeaderMalformed") || is("IllegalLocationConstraintException"))
        return say(ErrorCode::permission,
                   "the bucket is in another region than '" + settings_.region + "' (AWS_REGION)" + where);
    if (is("KeyTooLongError") || is("InvalidBucketName") || is("InvalidObjectName") ||
        is("XMinioInvalidObjectName"))
        return say(ErrorCode::invalid_argument, "the server does not take this name (" + code + ")");
    if (is("EntityTooLarge") || is("EntityTooSmall") || is("InvalidPart") || is("InvalidPartOrder"))
        return say(ErrorCode::invalid_argument, code + where);
    if (is("QuotaExceeded") || is("XMinioStorageFull") || is("InsufficientStorage") || is("StorageFull") ||
        answer.http_status == 507)
        return say(ErrorCode::no_space, "the server is full" + where);
    if (answer.http_status == 412) return say(ErrorCode::exists, "it exists");
    const bool is_plain = code.empty() || is("NoSuchKey") || is("NotFound") || is("NoSuchVersion");
    if (answer.http_status == 404 && is_plain) return say(ErrorCode::not_found, "not found" + where);
    if (answer.http_status == 403) return say(ErrorCode::permission, "the server denies access" + where);
    if (answer.http_status == 301 || answer.http_status == 307)
        return say(ErrorCode::permission,
                   "the bucket is in another region than '" + settings_.region + "' (AWS_REGION)" + where);
    if (answer.http_status == 501 || is("NotImplemented"))
        return say(ErrorCode::unsupported, "the server does not know this request" + where);
    const std::string message = settings_.without_secrets(xml_text(answer.text, "Message"));
    return say(ErrorCode::io, "HTTP status " + std::to_string(answer.http_status) +
                                  (code.empty() ? "" : ", " + code) +
                                  (message.empty() ? "" : ": " + message) + where);
}

}  // namespace hakobi::storage
