#include "storage/objects/rados.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/library.hpp"
#include "storage/objects/retry.hpp"

namespace hakobi::storage {
namespace {

/// The user's name without "client.": CEPH_ARGS="--id NAME", "--name client.NAME".
std::string user_of_environment() {
    const char* const text = std::getenv("CEPH_ARGS");
    std::istringstream words(text == nullptr ? "" : text);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        const std::string option = word.substr(0, equals);
        if (option != "--id" && option != "--user" && option != "--name" && option != "-n") continue;
        std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (equals == std::string::npos) words >> value;
        return value.starts_with("client.") ? value.substr(7) : value;
    }
    return "admin";
}

constexpr double silent_s = 30;  // then a request is sent again
constexpr double longest_connecting_s = 60;

/// The one connection of the process. Where nobody uses it any more it is closed at the process's exit,
/// before librados' own objects end: a thread of librados that meets one that has ended aborts the process.
struct Connection {
    std::mutex mutex;
    Rados::Cluster cluster = nullptr;
    std::atomic<int> num_users = 0;  // pools, open or about to be

    Status open(const Rados& rados) {
        const std::scoped_lock lock(mutex);
        if (cluster != nullptr) return {};
        // A monitor that stands still looks like one that is gone.
        Retry retry(patience_to_connect(), "Ceph");
        for (;;) {
            const std::string user = user_of_environment();
            Rados::Cluster made = nullptr;
            if (const int error = rados.create(&made, user.c_str()); error < 0)
                return rados_failure(error, "Ceph");
            bool is_silent = false;
            Status status = set_up(rados, made, user, is_silent);
            if (status.ok()) {
                cluster = made;
                // librados has made what it needs to connect: what is registered last runs first.
                process = getpid();
                (void)std::atexit(close_at_exit);
                return status;
            }
            rados.shutdown(made);
            if (!is_silent || !retry.wait(false, true)) return status;
        }
    }

  private:
    pid_t process = 0;

    static void close_at_exit();
    static Retry::Patience patience_to_connect() {
        Retry::Patience patience = Retry::patience();
        patience.known_s = std::min(patience.known_s, longest_connecting_s);
        return patience;
    }
    static Status set_up(const Rados& rados, Rados::Cluster made, const std::string& user, bool& is_silent) {
        const char* const named = std::getenv("CEPH_CONF");
        const std::string file = named != nullptr && *named != '\0' ? named : "/etc/ceph/ceph.conf";
        if (const int error = rados.read_settings(made, file.c_str()); error < 0) {
            return {error == -ENOENT ? ErrorCode::not_found : ErrorCode::invalid_argument,
                    "Ceph's settings cannot be read from " + file + " (CEPH_CONF)"};
        }
        if (rados.read_environment(made, nullptr) < 0)
            return {ErrorCode::invalid_argument, "Ceph's settings in CEPH_ARGS cannot be read"};
        // librados waits for ever for servers that are gone, unless it is told otherwise; and it writes on
        // stderr.
        const Retry::Patience patience = Retry::patience();
        const auto seconds = [](double s) { return std::to_string(static_cast<int>(s)); };
        const auto set_unless_set = [&](const char* name, const std::string& usual,
                                        const std::string& value) {
            std::array<char, 64> now{};
            if (rados.get_setting(made, name, now.data(), now.size()) >= 0 &&
                std::string_view(now.data()).starts_with(usual))
                (void)rados.set_setting(made, name, value.c_str());
        };
        set_unless_set("rados_osd_op_timeout", "0", seconds(std::min(patience.known_s, silent_s)));
        set_unless_set("rados_mon_op_timeout", "0", seconds(std::min(patience.known_s, silent_s)));
        set_unless_set("client_mount_timeout", "300", seconds(patience.unknown_s));
        for (const char* name : {"log_to_stderr", "err_to_stderr", "mon_cluster_log_to_stderr"})
            (void)rados.set_setting(made, name, "false");
        const int error = rados.connect(made);
        is_silent = error == -ETIMEDOUT;
        if (is_silent) return {ErrorCode::io, "no monitor of Ceph answers (" + file + ")"};
        if (error == -EACCES || error == -EPERM)
            return {ErrorCode::permission,
                    "wrong credentials: Ceph refuses client." + user + " with this keyring (" + file + ")"};
        if (error == -ENOENT)
            return {ErrorCode::permission,
                    "no credentials for Ceph: no keyring that can be read for client." + user + " (" + file +
                        ", CEPH_KEYRING)"};
        if (error < 0) return rados_failure(error, "cannot connect to Ceph (" + file + ")");
        return {};
    }
};

Connection& connection() {
    static Connection* const the = new Connection;  // its pools may outlive every static object
    return *the;
}

void Connection::close_at_exit() {
    Connection& the = connection();
    if (the.num_users != 0 || the.process != getpid()) return;  // a fork has none of librados' threads
    const Result<const Rados*> rados = Rados::get();
    if (rados.ok()) rados.value()->shutdown(std::exchange(the.cluster, nullptr));
}

}  // namespace

Status Rados::load() {
    Result<Library> loaded =
        Library::load({"librados.so.2"}, "HAKOBI_RADOS", "Ceph needs librados", "librados2");
    if (!loaded.ok()) return loaded.status();
    const Library& library = loaded.value();
    (void)library.find("rados_set_pool_full_try", fail_when_full);  // since Octopus
    const bool has_all =
        library.find("rados_create", create) && library.find("rados_conf_read_file", read_settings) &&
        library.find("rados_conf_parse_env", read_environment) &&
        library.find("rados_conf_get", get_setting) && library.find("rados_conf_set", set_setting) &&
        library.find("rados_connect", connect) && library.find("rados_shutdown", shutdown) &&
        library.find("rados_ioctx_create", open_pool) && library.find("rados_ioctx_destroy", close_pool) &&
        library.find("rados_ioctx_set_namespace", set_namespace) &&
        library.find("rados_create_write_op", new_write) &&
        library.find("rados_release_write_op", free_write) &&
        library.find("rados_write_op_create", add_create) &&
        library.find("rados_write_op_write", add_write) &&
        library.find("rados_write_op_write_full", add_write_full) &&
        library.find("rados_write_op_truncate", add_truncate) &&
        library.find("rados_write_op_cmpxattr", add_compare) &&
        library.find("rados_write_op_setxattr", add_attribute) &&
        library.find("rados_write_op_assert_exists", add_assert_exists) &&
        library.find("rados_write_op_omap_set", add_entries) &&
        library.find("rados_write_op_omap_rm_keys", add_remove_entries) &&
        library.find("rados_read_op_omap_get_vals2", add_list_entries) &&
        library.find("rados_omap_get_next", next_entry) &&
        library.find("rados_omap_get_end", close_entries) &&
        library.find("rados_write_op_operate", do_write) && library.find("rados_create_read_op", new_read) &&
        library.find("rados_release_read_op", free_read) &&
        library.find("rados_read_op_assert_version", add_assert_version) &&
        library.find("rados_read_op_read", add_read) && library.find("rados_read_op_stat", add_stat) &&
        library.find("rados_read_op_operate", do_read) &&
        library.find("rados_aio_read_op_operate", start_read) &&
        library.find("rados_write_op_assert_version", add_assert_written) &&
        library.find("rados_aio_write_op_operate", start_write) &&
        library.find("rados_aio_create_completion2", new_completion) &&
        library.find("rados_aio_wait_for_complete", wait) &&
        library.find("rados_aio_get_return_value", result) &&
        library.find("rados_aio_get_version", version) &&
        library.find("rados_aio_release", free_completion) && library.find("rados_getxattr", get_attribute) &&
        library.find("rados_remove", remove) && library.find("rados_nobjects_list_open", open_list) &&
        library.find("rados_nobjects_list_next", next) &&
        library.find("rados_nobjects_list_close", close_list);
    if (!has_all) return {ErrorCode::unsupported, "the librados that was found is older than Ceph 15"};
    return {};
}

Result<const Rados*> Rados::get() {
    static Rados* const rados = new Rados;
    static const Status loaded = rados->load();
    if (!loaded.ok()) return loaded;
    return static_cast<const Rados*>(rados);
}

Result<std::shared_ptr<RadosPool>> RadosPool::open(const std::string& pool, const std::string& name_space) {
    Result<const Rados*> rados = Rados::get();
    if (!rados.ok()) return rados.status();
    ++connection().num_users;
    struct Leave {
        ~Leave() { --connection().num_users; }
    } leave;
    if (Status status = connection().open(*rados.value()); !status.ok()) return status;
    Rados::Pool opened = nullptr;
    const int error = patiently([&](bool /*is_again*/) {
        return rados.value()->open_pool(connection().cluster, pool.c_str(), &opened);
    });
    if (error == -ENOENT) return Status(ErrorCode::not_found, "Ceph has no pool '" + pool + "'");
    if (error < 0) return rados_failure(error, "cannot open Ceph's pool '" + pool + "'");
    rados.value()->set_namespace(opened, name_space.c_str());
    if (rados.value()->fail_when_full != nullptr) rados.value()->fail_when_full(opened);
    return std::make_shared<RadosPool>(*rados.value(), opened);
}

RadosPool::RadosPool(const Rados& rados, Rados::Pool pool) : rados_(rados), pool_(pool) {
    ++connection().num_users;
}

RadosPool::~RadosPool() {
    rados_.close_pool(pool_);
    --connection().num_users;
}

int RadosPool::patiently(const std::function<int(bool is_again)>& request) {
    const auto begin = Retry::Clock::now();
    int error = request(false);
    if (error != -ETIMEDOUT) return error;
    Retry retry(Retry::patience(), "Ceph", begin);
    while (error == -ETIMEDOUT && retry.wait(false, true)) error = request(true);
    return error;
}

Status rados_failure(int error, const std::string& what) {
    switch (-error) {
        case ETIMEDOUT:
            return {ErrorCode::io, what + ": Ceph's servers do not answer"};
        case EACCES:
        case EPERM:
            return {ErrorCode::permission, what + ": Ceph denies access to this user"};
        case EFBIG:
        case E2BIG:
            return {ErrorCode::invalid_argument, what + ": the object would be larger than Ceph allows"};
        case ESHUTDOWN:
            return {ErrorCode::permission, what + ": Ceph has blocked this client"};
        default:
            return {code_of_errno(-error), what + ": " + std::strerror(-error)};
    }
}

}  // namespace hakobi::storage
