#include "storage/objects/s3_settings.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "foreign_locale.hpp"
#include "storage/objects/s3_client.hpp"

namespace hakobi::storage {
namespace {

using Variables = std::map<std::string, std::string>;

Result<S3Settings> find(const Variables& variables, const std::string& bucket = "bucket") {
    return S3Settings::find(bucket, [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? "" : found->second;
    });
}

std::string write_file(const std::string& name, const std::string& text) {
    std::ofstream(name) << text;
    return name;
}

TEST(S3Client, ReadsDatesInEveryLocale) {
    HAKOBI_IN_LOCALE("ar_EG");
    EXPECT_EQ(time_s_of("Wed, 18 Mar 2026 14:00:00 GMT"), 1'773'842'400);
    EXPECT_EQ(time_s_of("2026-03-18T14:00:00.000Z"), 1'773'842'400);
    EXPECT_EQ(time_s_of("yesterday"), 0);
}

TEST(S3Settings, VariablesComeFirst) {
    const S3Settings found = find({{"AWS_ACCESS_KEY_ID", "key"},
                                   {"AWS_SECRET_ACCESS_KEY", "secret"},
                                   {"AWS_SESSION_TOKEN", "token"},
                                   {"AWS_REGION", "eu-central-1"}})
                                 .value();
    EXPECT_EQ(found.access_key, "key");
    EXPECT_EQ(found.secret_key, "secret");
    EXPECT_EQ(found.session_token, "token");
    EXPECT_EQ(found.endpoint, "https://s3.eu-central-1.amazonaws.com");
    EXPECT_FALSE(found.is_path_style);
    EXPECT_TRUE(
        find({{"AWS_ACCESS_KEY_ID", "k"}, {"AWS_SECRET_ACCESS_KEY", "s"}}, "a.bucket").value().is_path_style);
}

TEST(S3Settings, AProfileGivesWhatVariablesDoNot) {
    const std::string credentials =
        write_file("s3.credentials",
                   "# ours\n[default]\naws_access_key_id = no\naws_secret_access_key = no\n"
                   "[site]\naws_access_key_id = site-key\naws_secret_access_key=site secret/+=\n");
    const std::string config =
        write_file("s3.config",
                   "[profile site]\nregion = here\nendpoint_url = https://store.example:9000/\n"
                   "s3 =\n    addressing_style = virtual\n");
    Variables variables = {
        {"AWS_PROFILE", "site"}, {"AWS_SHARED_CREDENTIALS_FILE", credentials}, {"AWS_CONFIG_FILE", config}};
    const S3Settings found = find(variables).value();
    EXPECT_EQ(found.access_key, "site-key");
    EXPECT_EQ(found.secret_key, "site secret/+=");
    EXPECT_EQ(found.region, "here");
    EXPECT_EQ(found.endpoint, "https://store.example:9000");
    EXPECT_FALSE(found.is_path_style);
    variables["AWS_ENDPOINT_URL_S3"] = "http://127.0.0.1:1";
    EXPECT_EQ(find(variables).value().endpoint, "http://127.0.0.1:1");
    variables["AWS_ACCESS_KEY_ID"] = "half";  // never with the file's secret
    EXPECT_EQ(find(variables).status().code(), ErrorCode::permission);
    variables["AWS_PROFILE"] = "none";
    EXPECT_NE(find(variables).status().text().find("no profile 'none'"), std::string::npos);
}

TEST(S3Settings, WithoutCredentialsOnlyWhatIsPublic) {
    const Status none = find({{"HOME", "/nowhere"}}).status();
    EXPECT_EQ(none.code(), ErrorCode::permission);
    EXPECT_NE(none.text().find("AWS_ACCESS_KEY_ID"), std::string::npos);
    EXPECT_TRUE(find({{"AWS_NO_SIGN_REQUEST", "YES"}}).value().access_key.empty());
}

TEST(S3Settings, RefusesAnEndpointThatIsNoUrl) {
    EXPECT_EQ(find({{"AWS_NO_SIGN_REQUEST", "1"}, {"AWS_ENDPOINT_URL", "server:9000"}}).status().code(),
              ErrorCode::invalid_argument);
}

TEST(S3Settings, TextsLoseTheirSecrets) {
    const S3Settings found = {.access_key = "KEY",
                              .secret_key = "SECRET",
                              .session_token = "",
                              .region = "",
                              .endpoint = "",
                              .ca_file = ""};
    EXPECT_EQ(found.without_secrets("KEY and KEYSECRET"), "*** and ******");
}

}  // namespace
}  // namespace hakobi::storage
