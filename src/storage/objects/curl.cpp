#include "storage/objects/curl.hpp"

#include "base/library.hpp"

namespace hakobi::storage {

Status Curl::load() {
    Result<Library> loaded =
        Library::load({"libcurl.so.4", "libcurl-gnutls.so.4"}, "HAKOBI_CURL", "S3 needs libcurl", "libcurl4");
    if (!loaded.ok()) return loaded.status();
    const Library& library = loaded.value();
    const bool has_all =
        library.find("curl_global_init", global_init) && library.find("curl_easy_init", init) &&
        library.find("curl_easy_setopt", set) && library.find("curl_easy_perform", perform) &&
        library.find("curl_easy_getinfo", get_info) && library.find("curl_easy_reset", reset) &&
        library.find("curl_easy_cleanup", cleanup) && library.find("curl_easy_strerror", error_text) &&
        library.find("curl_slist_append", append) && library.find("curl_slist_free_all", free_list);
    if (!has_all)
        return {ErrorCode::unsupported, "the libcurl that was found lacks a function that every version has"};
    constexpr long everything = 3;
    if (const int error = global_init(everything); error != ok)
        return {ErrorCode::unsupported, std::string("libcurl cannot be used: ") + error_text(error)};
    Easy* const easy = init();
    const int signs = easy == nullptr ? out_of_memory : set(easy, aws_sigv4, "aws:amz:us-east-1:s3");
    if (easy != nullptr) cleanup(easy);
    if (signs != ok)
        return {ErrorCode::unsupported,
                "S3 needs a libcurl that signs requests: 7.75 or newer, with OpenSSL or GnuTLS"};
    return {};
}

Result<const Curl*> Curl::get() {
    // Kept to the end: threads may use it while static objects are destroyed.
    static Curl* const curl = new Curl;
    static const Status loaded = curl->load();
    if (!loaded.ok()) return loaded;
    return static_cast<const Curl*>(curl);
}

}  // namespace hakobi::storage
