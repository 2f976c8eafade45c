#pragma once

#include <functional>
#include <string>

#include "base/status.hpp"

namespace hakobi::storage {

/// How a bucket is reached, found as AWS's own programs find it: a variable, else the profile's line in
/// AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) or AWS_CONFIG_FILE (~/.aws/config).
struct S3Settings {
    std::string access_key;     ///< AWS_ACCESS_KEY_ID; "" with AWS_NO_SIGN_REQUEST: what is public
    std::string secret_key;     ///< AWS_SECRET_ACCESS_KEY
    std::string session_token;  ///< AWS_SESSION_TOKEN
    std::string region;         ///< AWS_REGION, AWS_DEFAULT_REGION, `region`; us-east-1
    /// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, `endpoint_url`; https://s3.REGION.amazonaws.com. Without a
    /// slash at its end.
    std::string endpoint;
    /// ENDPOINT/BUCKET/KEY instead of BUCKET.ENDPOINT/KEY: the profile's `addressing_style` ("path" or
    /// "virtual") below `s3 =`; else with every endpoint that is not Amazon's.
    bool is_path_style = false;
    std::string ca_file;  ///< AWS_CA_BUNDLE; "": the system's

    /// `bucket` decides the style where nothing else does: names with dots break certificates.
    static Result<S3Settings> find(const std::string& bucket,
                                   const std::function<std::string(const char* variable)>& variable);
    static Result<S3Settings> find(const std::string& bucket);

    /// A server's text without credentials.
    [[nodiscard]] std::string without_secrets(std::string text) const;
};

}  // namespace hakobi::storage
