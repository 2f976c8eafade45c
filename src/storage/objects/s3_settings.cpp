#include "storage/objects/s3_settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>

namespace hakobi::storage {
namespace {

using Section = std::map<std::string, std::string>;

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// A profile's lines: "[name]" in the credentials, "[profile name]" (but "[default]") in the configuration. A
/// line NAME indented below "s3 =" is called "s3.NAME".
Section read_profile(const std::string& path, const std::string& profile) {
    std::ifstream file(path);
    Section section;
    bool is_ours = false;
    std::string parent;
    for (std::string line; std::getline(file, line);) {
        const std::string_view text = trimmed(line);
        if (text.empty() || text.front() == '#' || text.front() == ';') continue;
        if (text.front() == '[') {
            std::string_view name = trimmed(text.substr(1, text.find(']') - 1));
            if (name.starts_with("profile ")) name = trimmed(name.substr(8));
            is_ours = name == profile;
            continue;
        }
        const std::size_t equals = text.find('=');
        if (!is_ours || equals == std::string_view::npos) continue;
        std::string name(trimmed(text.substr(0, equals)));
        const std::string value(trimmed(text.substr(equals + 1)));
        const bool is_indented = line.front() == ' ' || line.front() == '\t';
        if (!is_indented) parent = value.empty() ? name + "." : "";
        section[is_indented ? parent + name : name] = value;
    }
    return section;
}

bool is_yes(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return text == "yes" || text == "true" || text == "1" || text == "on";
}

}  // namespace

Result<S3Settings> S3Settings::find(const std::string& bucket,
                                    const std::function<std::string(const char* variable)>& variable) {
    const auto first_of = [](std::initializer_list<std::string> texts) {
        const auto* const found =
            std::ranges::find_if(texts, [](const std::string& text) { return !text.empty(); });
        return found == texts.end() ? std::string() : *found;
    };
    const std::string named = first_of({variable("AWS_PROFILE"), variable("AWS_DEFAULT_PROFILE")});
    const std::string profile = named.empty() ? "default" : named;
    const std::string home = variable("HOME");
    const std::string credentials_file =
        first_of({variable("AWS_SHARED_CREDENTIALS_FILE"), home + "/.aws/credentials"});
    const std::string config_file = first_of({variable("AWS_CONFIG_FILE"), home + "/.aws/config"});
    Section credentials = read_profile(credentials_file, profile);
    Section config = read_profile(config_file, profile);
    if (!named.empty() && credentials.empty() && config.empty()) {
        return Status(ErrorCode::permission, "no profile '" + profile + "' (AWS_PROFILE) in " +
                                                 credentials_file + " or " + config_file);
    }

    S3Settings found;
    found.access_key = variable("AWS_ACCESS_KEY_ID");
    found.secret_key = variable("AWS_SECRET_ACCESS_KEY");
    found.session_token = variable("AWS_SESSION_TOKEN");
    // The three belong together: a variable's key never meets a file's secret.
    for (Section* section : {&credentials, &config}) {
        if (!found.access_key.empty() || !found.secret_key.empty()) break;
        found.access_key = (*section)["aws_access_key_id"];
        found.secret_key = (*section)["aws_secret_access_key"];
        found.session_token = (*section)["aws_session_token"];
    }
    if (is_yes(variable("AWS_NO_SIGN_REQUEST"))) {
        found.access_key = found.secret_key = found.session_token = "";
    } else if (found.access_key.empty() || found.secret_key.empty()) {
        return Status(
            ErrorCode::permission,
            "no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give profile '" +
                profile + "' both in " + credentials_file + " (AWS_NO_SIGN_REQUEST=yes: what is public)");
    }
    found.region =
        first_of({variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"), config["region"], "us-east-1"});
    const std::string amazon = "https://s3." + found.region + ".amazonaws.com";
    found.endpoint =
        first_of({variable("AWS_ENDPOINT_URL_S3"), variable("AWS_ENDPOINT_URL"), config["s3.endpoint_url"],
                  credentials["endpoint_url"], config["endpoint_url"], amazon});
    while (found.endpoint.ends_with('/')) found.endpoint.pop_back();
    if (!found.endpoint.starts_with("http://") && !found.endpoint.starts_with("https://")) {
        return Status(ErrorCode::invalid_argument,
                      "the S3 endpoint '" + found.endpoint +
                          "' (AWS_ENDPOINT_URL) begins neither with http:// nor with https://");
    }
    const std::string style = first_of({config["s3.addressing_style"], credentials["s3.addressing_style"]});
    const bool is_amazons = found.endpoint.find(".amazonaws.com") != std::string::npos;
    found.is_path_style =
        style == "path" || (style != "virtual" && (!is_amazons || bucket.find('.') != std::string::npos));
    found.ca_file = first_of({variable("AWS_CA_BUNDLE"), config["ca_bundle"]});
    return found;
}

Result<S3Settings> S3Settings::find(const std::string& bucket) {
    return find(bucket, [](const char* name) {
        const char* const text = std::getenv(name);
        return std::string(text == nullptr ? "" : text);
    });
}

std::string S3Settings::without_secrets(std::string text) const {
    for (const std::string& secret : {access_key, secret_key, session_token}) {
        for (std::size_t at = 0; !secret.empty() && (at = text.find(secret, at)) != std::string::npos;)
            text.replace(at, secret.size(), "***");
    }
    return text;
}

}  // namespace hakobi::storage
