#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/objects/curl.hpp"
#include "storage/objects/s3_settings.hpp"

namespace hakobi::storage {

/// A request to one bucket.
struct S3Request {
    const char* method = "GET";
    std::string key = {};                                         ///< "": the bucket's
    std::vector<std::pair<std::string, std::string>> query = {};  ///< any order
    std::vector<std::string> headers = {};                        ///< "name: value"
    std::span<const std::byte> body = {};
    std::span<std::byte> into = {};  ///< where the answer's bytes go; else into `S3Answer::text`
    std::string what = {};           ///< "cannot read s3://b/k": how an error's text begins
};

struct S3Answer {
    long http_status = 0;
    std::map<std::string, std::string> headers;  ///< names in small letters
    std::string text;                            ///< the body, up to 64 MiB
    std::int64_t num_bytes = 0;                  ///< in S3Request::into
    std::string code;                            ///< S3's own word for an error: "NoSuchKey"

    [[nodiscard]] bool ok() const noexcept { return http_status >= 200 && http_status < 300; }
    [[nodiscard]] std::string header(const std::string& name) const;
};

/// Signs and sends requests, repeats those that failed for a reason that passes, and keeps connections.
/// Thread-safe.
class S3Client {
  public:
    S3Client(const Curl& curl, S3Settings settings, std::string bucket);
    ~S3Client();
    S3Client(const S3Client&) = delete;
    S3Client& operator=(const S3Client&) = delete;

    /// The server's last answer, whatever its status says; an error only where there is none.
    Result<S3Answer> send(const S3Request& request);
    /// The error that an answer means: "<what>: …".
    [[nodiscard]] Status failure(const S3Request& request, const S3Answer& answer) const;

  private:
    struct Exchange;
    [[nodiscard]] std::string url_of(const S3Request& request) const;
    Curl::Easy* take_connection();
    void give_back(Curl::Easy* easy);
    /// One try. The CURLcode.
    int exchange_once(Curl::Easy* easy, const S3Request& request, Exchange& exchange);

    const Curl& curl_;
    S3Settings settings_;
    std::string bucket_;
    std::mutex mutex_;
    std::vector<Curl::Easy*> idle_;
    std::atomic<bool> has_answered_ = false;
};

/// Seconds since 1970 of "Wed, 26 Nov 2026 14:00:00 GMT" or "2026-11-26T14:00:00.000Z", in every locale; 0 of
/// another text.
[[nodiscard]] std::int64_t time_s_of(const std::string& date);
/// The same in nanoseconds; 0 also of a date that these do not reach.
[[nodiscard]] std::int64_t time_ns_of(const std::string& date);

/// Everything but letters, digits and "-._~" (and "/", if told so) as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view text, bool keeps_slash = false);
[[nodiscard]] std::string percent_decoded(std::string_view text);

}  // namespace hakobi::storage
