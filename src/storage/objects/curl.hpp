#pragma once

#include <cstddef>

#include "base/status.hpp"

namespace hakobi::storage {

/// The part of libcurl that we use, which is loaded at the first use (7.75 or newer: it signs requests). A
/// program that stores nothing on S3 needs none. Numbers are those of curl's ABI, which never change.
struct Curl {
    using Easy = void;
    struct List;  ///< curl_slist

    static constexpr int url = 10002, range = 10007, write_data = 10001, read_data = 10009,
                         header_data = 10029;
    static constexpr int error_buffer = 10010, user_agent = 10018, headers = 10023, custom_request = 10036;
    static constexpr int ca_file = 10065, user_name = 10173, password = 10174, aws_sigv4 = 10305;
    static constexpr int post_fields = 10015, write_function = 20011, read_function = 20012,
                         header_function = 20079;
    static constexpr int seek_function = 20167, seek_data = 10168;
    static constexpr int low_speed_limit = 19, low_speed_time = 20, no_body = 44, upload = 46, post = 47;
    static constexpr int http_version = 84, buffer_bytes = 98, no_signal = 99, connect_timeout_ms = 156;
    static constexpr int path_as_is = 234, upload_buffer_bytes = 280;
    static constexpr int in_file_size = 30115, post_field_size = 30120;
    static constexpr int response_code = 0x200002;
    static constexpr long http_1_1 = 2;
    static constexpr int error_text_bytes = 256;

    // CURLcode
    static constexpr int ok = 0, unsupported_protocol = 1, bad_url = 3, not_built_in = 4, write_error = 23;
    static constexpr int out_of_memory = 27, unknown_option = 48, bad_certificate_file = 77,
                         unverified_peer = 60;

    int (*global_init)(long flags) = nullptr;
    Easy* (*init)() = nullptr;
    int (*set)(Easy* easy, int option, ...) = nullptr;
    int (*perform)(Easy* easy) = nullptr;
    int (*get_info)(Easy* easy, int info, ...) = nullptr;
    void (*reset)(Easy* easy) = nullptr;
    void (*cleanup)(Easy* easy) = nullptr;
    const char* (*error_text)(int code) = nullptr;
    List* (*append)(List* list, const char* text) = nullptr;
    void (*free_list)(List* list) = nullptr;

    /// `unsupported` where the library is missing, or cannot sign. HAKOBI_CURL names another file.
    static Result<const Curl*> get();

  private:
    Status load();
};

}  // namespace hakobi::storage
