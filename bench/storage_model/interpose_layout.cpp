// Layouts under the model, as Lustre's client has them (lustre_user.h of the Lustre project;
// llapi_layout(7)):
// 1. statfs says that the folder is Lustre. O_LOV_DELAY_CREATE makes a file that waits for a layout.
// 2. LL_IOC_LOV_SETSTRIPE gives such a file its layout, once; the first write does otherwise. A stripe is a
//    multiple of 64 KiB; more stripes than servers are as many as there are, unless the pattern says that
//    servers may hold several.
// 3. The attribute `lustre.lov` has a file's layout: the plain form, with the server of each object. Folders
//    have none of their own.
// 4. LL_IOC_GETOBDCOUNT of a folder is the number of servers.
// Only where the model has the word `stripes`.
#include <asm/ioctl.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <string_view>
#include <vector>

#include "interpose_layout.hpp"
#include "model.hpp"
#include "storage_model/service_state.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace hakobi::storage_model {
namespace {

using storage::FileStriping;

constexpr long lustre_magic = 0x0BD00BD0;
constexpr std::uint32_t magic_v1 = 0x0BD10BD0, magic_v3 = 0x0BD30BD0;
constexpr std::uint32_t pattern_raid0 = 1, pattern_overstriping = 0x200;
constexpr unsigned long set_stripe = _IOW('f', 154, long), get_stripe = _IOW('f', 155, long),
                        count_servers = _IOR('f', 168, long);
constexpr std::uint16_t any_server = 0xffff;

struct UserLayout {  // lov_user_md_v1; v3 has the 16 bytes of a pool's name behind it
    std::uint32_t magic = magic_v1, pattern = pattern_raid0;
    std::uint64_t object_id[2] = {};
    std::uint32_t stripe_bytes = 0;
    std::uint16_t num_stripes = 0, first_server = any_server;
};
static_assert(sizeof(UserLayout) == 32);
struct UserObject {  // lov_user_ost_data_v1
    std::uint64_t id[2] = {};
    std::uint32_t generation = 0, server = 0;
};
static_assert(sizeof(UserObject) == 24);

bool has_layouts(int fd) {
    return is_below_folder(fd) && service_model().has_layouts();
}

/// 0 or an errno.
int set_layout(int fd, const void* from) {
    const std::uint64_t identity = modelled(fd);
    UserLayout wish;
    if (from == nullptr) return EFAULT;
    if (identity == 0) return ENOTTY;  // a folder's default is the model's
    std::memcpy(&wish, from, sizeof wish);
    if (wish.magic != magic_v1 && wish.magic != magic_v3) return EINVAL;
    if ((wish.pattern & ~pattern_overstriping) > pattern_raid0) return EINVAL;
    const storage::ServiceModel& model = service_model();
    FileStriping striping{model.stripe_bytes, model.num_stripes, 0};
    if (wish.stripe_bytes != 0) striping.stripe_bytes = wish.stripe_bytes;
    if (striping.stripe_bytes % storage::stripe_unit_bytes != 0) return EINVAL;
    if (wish.num_stripes != 0) striping.num_stripes = wish.num_stripes;
    const bool may_overstripe = (wish.pattern & pattern_overstriping) != 0 && wish.num_stripes != 0xffff;
    if (!may_overstripe) striping.num_stripes = std::min(striping.num_stripes, model.num_servers);
    if (wish.first_server != any_server && wish.first_server >= model.num_servers) return EINVAL;
    striping.first_server = wish.first_server != any_server
                                ? wish.first_server
                                : static_cast<int>(storage::service::mixed(identity) %
                                                   static_cast<std::uint64_t>(model.num_servers));
    storage::FileEntry* const entry = service_state().find(identity);
    std::uint64_t waiting = storage::waits_for_layout;
    if (entry == nullptr || !entry->layout.compare_exchange_strong(waiting, storage::packed(striping)))
        return EEXIST;
    return 0;
}

/// The layout as the attribute has it; empty of a folder, and of a file that waits for one.
std::vector<std::byte> layout_of(std::uint64_t identity) {
    if (identity == 0) return {};
    const storage::FileEntry* const entry = service_state().find(identity);
    if (entry != nullptr && entry->layout.load() == storage::waits_for_layout) return {};
    const storage::ServiceModel& model = service_model();
    const FileStriping striping = service_state().striping_of(model, identity);
    UserLayout layout;
    if (striping.num_stripes > model.num_servers) layout.pattern |= pattern_overstriping;
    layout.stripe_bytes = static_cast<std::uint32_t>(striping.stripe_bytes);
    layout.num_stripes = static_cast<std::uint16_t>(striping.num_stripes);
    layout.first_server = 0;  // read back: the layout's generation
    std::vector<std::byte> bytes(sizeof layout +
                                 static_cast<std::size_t>(striping.num_stripes) * sizeof(UserObject));
    std::memcpy(bytes.data(), &layout, sizeof layout);
    for (int object = 0; object < striping.num_stripes; ++object) {
        UserObject one;
        one.id[0] = identity;
        one.server = static_cast<std::uint32_t>(striping.server_of(object, model));
        std::memcpy(bytes.data() + sizeof layout + static_cast<std::size_t>(object) * sizeof one, &one,
                    sizeof one);
    }
    return bytes;
}

bool is_layout_name(const char* name) {
    return name != nullptr && (std::strcmp(name, "lustre.lov") == 0 || std::strcmp(name, "trusted.lov") == 0);
}

ssize_t give_attribute(const std::vector<std::byte>& bytes, void* value, std::size_t size) {
    if (bytes.empty()) {
        errno = ENODATA;
        return -1;
    }
    if (size != 0 && size < bytes.size()) {
        errno = ERANGE;
        return -1;
    }
    if (size != 0) std::memcpy(value, bytes.data(), bytes.size());
    return std::ssize(bytes);
}

std::vector<std::byte> layout_of(const char* path) {
    const int fd = ::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    std::vector<std::byte> bytes = layout_of(fd < 0 ? 0 : modelled(fd));
    if (fd >= 0) ::close(fd);
    return bytes;
}

template <class Info>
int as_lustre(int result, bool is_ours, Info* info) {
    if (result == 0 && is_ours) info->f_type = lustre_magic;
    return result;
}

}  // namespace

void made(int fd, int flags) {
    constexpr int delay_create = O_CREAT | O_NOCTTY | FASYNC;  // O_LOV_DELAY_CREATE
    if (fd < 0 || (flags & delay_create) != delay_create) return;
    const KeepErrno keep;
    struct stat info {};
    const std::uint64_t identity = modelled(fd);
    if (identity == 0 || !service_model().has_layouts() || ::fstat(fd, &info) != 0 || info.st_size != 0)
        return;
    std::uint64_t none = 0;
    service_state().entry_of(identity).layout.compare_exchange_strong(none, storage::waits_for_layout);
}

}  // namespace hakobi::storage_model

using namespace hakobi::storage_model;  // NOLINT(google-build-using-namespace): the rest is libc's names

EXPORT int fstatfs(int fd, struct statfs* info) noexcept {
    return as_lustre(HAKOBI_NEXT(fstatfs, fd, info), has_layouts(fd), info);
}
EXPORT int fstatfs64(int fd, struct statfs64* info) noexcept {
    return as_lustre(HAKOBI_NEXT(fstatfs64, fd, info), has_layouts(fd), info);
}
EXPORT int statfs(const char* path, struct statfs* info) noexcept {
    return as_lustre(HAKOBI_NEXT(statfs, path, info), is_modelled(path) && service_model().has_layouts(),
                     info);
}
EXPORT int statfs64(const char* path, struct statfs64* info) noexcept {
    return as_lustre(HAKOBI_NEXT(statfs64, path, info), is_modelled(path) && service_model().has_layouts(),
                     info);
}

EXPORT ssize_t fgetxattr(int fd, const char* name, void* value, size_t size) noexcept {
    if (!is_layout_name(name) || !has_layouts(fd)) return HAKOBI_NEXT(fgetxattr, fd, name, value, size);
    return give_attribute(layout_of(modelled(fd)), value, size);
}
EXPORT ssize_t getxattr(const char* path, const char* name, void* value, size_t size) noexcept {
    if (!is_layout_name(name) || !is_modelled(path) || !service_model().has_layouts())
        return HAKOBI_NEXT(getxattr, path, name, value, size);
    return give_attribute(layout_of(path), value, size);
}
EXPORT ssize_t lgetxattr(const char* path, const char* name, void* value, size_t size) noexcept {
    if (!is_layout_name(name) || !is_modelled(path) || !service_model().has_layouts())
        return HAKOBI_NEXT(lgetxattr, path, name, value, size);
    return give_attribute(layout_of(path), value, size);
}

EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list list;
    va_start(list, request);
    void* const argument = va_arg(list, void*);
    va_end(list);
    const bool is_ours = request == set_stripe || request == get_stripe || request == count_servers;
    if (!is_ours || !has_layouts(fd)) return HAKOBI_NEXT(ioctl, fd, request, argument);
    if (request == count_servers) {
        std::memcpy(argument, &service_model().num_servers, sizeof(int));
        return 0;
    }
    if (request == set_stripe) {
        const int error = set_layout(fd, argument);
        if (error == 0) return 0;
        errno = error;
        return -1;
    }
    UserLayout asked;
    std::memcpy(&asked, argument, sizeof asked);
    const std::vector<std::byte> bytes = layout_of(modelled(fd));
    if (bytes.empty()) {
        errno = ENODATA;
        return -1;
    }
    // As many objects as the caller has said that it has room for.
    const std::size_t room = sizeof asked + asked.num_stripes * sizeof(UserObject);
    std::memcpy(argument, bytes.data(), std::min(bytes.size(), room));
    return 0;
}
