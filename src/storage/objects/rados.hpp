#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "base/status.hpp"

namespace hakobi::storage {

/// The part of librados, Ceph's library, that we use. It is loaded at the first use.
struct Rados {
    using Cluster = void*;
    using Pool = void*;  ///< rados_ioctx_t
    using Op = void*;    ///< a write or a read of several parts: all or none
    using Cursor = void*;
    using Completion = void*;
    static constexpr int create_exclusive = 1, create_idempotent = 0;
    static constexpr std::uint8_t compare_greater = 3;

    int (*create)(Cluster* cluster, const char* id) = nullptr;
    int (*read_settings)(Cluster cluster, const char* path) = nullptr;
    int (*read_environment)(Cluster cluster, const char* variable) = nullptr;
    int (*get_setting)(Cluster cluster, const char* name, char* value, std::size_t length) = nullptr;
    int (*set_setting)(Cluster cluster, const char* name, const char* value) = nullptr;
    int (*connect)(Cluster cluster) = nullptr;
    void (*shutdown)(Cluster cluster) = nullptr;
    int (*open_pool)(Cluster cluster, const char* name, Pool* pool) = nullptr;
    void (*close_pool)(Pool pool) = nullptr;
    void (*set_namespace)(Pool pool, const char* name) = nullptr;
    void (*fail_when_full)(Pool pool) = nullptr;  ///< may be missing

    Op (*new_write)() = nullptr;
    void (*free_write)(Op op) = nullptr;
    void (*add_create)(Op op, int how, const char* category) = nullptr;
    void (*add_write)(Op op, const char* bytes, std::size_t length, std::uint64_t offset) = nullptr;
    void (*add_write_full)(Op op, const char* bytes, std::size_t length) = nullptr;
    void (*add_truncate)(Op op, std::uint64_t size) = nullptr;
    void (*add_compare)(Op op, const char* name, std::uint8_t how, const char* value,
                        std::size_t length) = nullptr;
    void (*add_attribute)(Op op, const char* name, const char* value, std::size_t length) = nullptr;
    void (*add_assert_written)(Op op, std::uint64_t version) = nullptr;  ///< add_assert_version of a write
    void (*add_assert_exists)(Op op) = nullptr;
    void (*add_entries)(Op op, const char* const* keys, const char* const* values, const std::size_t* lengths,
                        std::size_t num) = nullptr;
    void (*add_remove_entries)(Op op, const char* const* keys, std::size_t num) = nullptr;
    int (*do_write)(Op op, Pool pool, const char* object, std::time_t* time, int flags) = nullptr;
    int (*start_write)(Op op, Pool pool, Completion completion, const char* object, std::time_t* time,
                       int flags) = nullptr;

    Op (*new_read)() = nullptr;
    void (*free_read)(Op op) = nullptr;
    void (*add_assert_version)(Op op, std::uint64_t version) = nullptr;
    void (*add_read)(Op op, std::uint64_t offset, std::size_t length, char* into, std::size_t* num,
                     int* error) = nullptr;
    void (*add_stat)(Op op, std::uint64_t* size, std::time_t* time, int* error) = nullptr;
    void (*add_list_entries)(Op op, const char* start_after, const char* prefix, std::uint64_t most,
                             Cursor* cursor, unsigned char* has_more, int* error) = nullptr;
    int (*next_entry)(Cursor cursor, char** key, char** value, std::size_t* length) = nullptr;
    void (*close_entries)(Cursor cursor) = nullptr;
    int (*do_read)(Op op, Pool pool, const char* object, int flags) = nullptr;
    int (*start_read)(Op op, Pool pool, Completion completion, const char* object, int flags) = nullptr;
    int (*new_completion)(void* argument, void (*callback)(Completion, void*),
                          Completion* completion) = nullptr;
    int (*wait)(Completion completion) = nullptr;
    int (*result)(Completion completion) = nullptr;
    std::uint64_t (*version)(Completion completion) = nullptr;
    void (*free_completion)(Completion completion) = nullptr;

    int (*get_attribute)(Pool pool, const char* object, const char* name, char* value,
                         std::size_t length) = nullptr;
    int (*remove)(Pool pool, const char* object) = nullptr;
    int (*open_list)(Pool pool, Cursor* cursor) = nullptr;
    int (*next)(Cursor cursor, const char** object, const char** key, const char** space) = nullptr;
    void (*close_list)(Cursor cursor) = nullptr;

    /// `unsupported` where the library is missing. HAKOBI_RADOS names another file.
    static Result<const Rados*> get();

  private:
    Status load();
};

/// A pool, in one of its namespaces.
class RadosPool {
  public:
    /// As CEPH_CONF (or /etc/ceph/ceph.conf) and CEPH_ARGS say; the connection is made at the first use and
    /// shared by all pools.
    static Result<std::shared_ptr<RadosPool>> open(const std::string& pool, const std::string& name_space);
    RadosPool(const Rados& rados, Rados::Pool pool);
    ~RadosPool();
    /// Returns the result of `request`. Calls it again where no server has answered, so a server that
    /// restarts or stands still is waited for; `is_again` tells it that it may have been carried out already.
    [[nodiscard]] static int patiently(const std::function<int(bool is_again)>& request);
    RadosPool(const RadosPool&) = delete;
    RadosPool& operator=(const RadosPool&) = delete;
    [[nodiscard]] const Rados& rados() const noexcept { return rados_; }
    [[nodiscard]] Rados::Pool get() const noexcept { return pool_; }

  private:
    const Rados& rados_;
    Rados::Pool pool_;
};

/// Returns the error for a negative result of librados.
Status rados_failure(int error, const std::string& what);

}  // namespace hakobi::storage
