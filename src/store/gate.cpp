#include "store/gate.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <hakobi/error.hpp>

#include "storage/file.hpp"

namespace hakobi::store {

namespace {

/// Who made it: "host pid, to target".
std::string text_of(const Descriptor& gate) {
    std::array<char, 512> text{};
    const ssize_t length = ::pread(gate.get(), text.data(), text.size(), 0);
    return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
}

/// Takes or tries the lock. True where nobody holds it, and its maker was on this host: another host's lock may not show.
bool is_dead(const Descriptor& gate, int operation) {
    if (::flock(gate.get(), operation | LOCK_NB) != 0) return false;
    return text_of(gate).starts_with(host_name() + " ");
}

bool is_still(const Descriptor& gate, const std::string& path) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(gate.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

[[noreturn]] void refuse(const Folder& folder, const std::string& maker) {
    throw Error(ErrorCode::exists, "the store " + folder.path() + " is being moved (by " + maker +
                                       "): open it there when that is done; if it was killed, remove " +
                                       folder.gate_path());
}

}  // namespace

Gate::Gate(const Folder& folder, const std::string& target) : path_(folder.gate_path()) {
    (void)remove_dead(folder);
    // Locked and whole before anybody can see it, and made by one only.
    const std::string temporary = folder.temporary_path(path_);
    lock_ = Descriptor(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (lock_.get() < 0) status_of_errno(errno, "cannot close the store by", path_).throw_if_error();
    const std::string text = host_name() + " " + std::to_string(::getpid()) + ", to " + target;
    (void)lock_as_owner(lock_);
    const bool is_written = ::write(lock_.get(), text.data(), text.size()) == std::ssize(text);
    const bool is_made = is_written && ::link(temporary.c_str(), path_.c_str()) == 0;
    const int error = errno;
    (void)storage::remove_file(temporary);
    if (!is_made) {
        const Descriptor other(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
        if (other.get() >= 0) refuse(folder, text_of(other));
        status_of_errno(error, "cannot close the store by", path_).throw_if_error();
    }
    try {
        for (const WriterFiles& files : folder.contents().writers) {
            if (!files.has_index || !is_writer_alive(folder, files)) continue;
            throw Error(ErrorCode::exists, "cannot move the store " + folder.path() + ": the writer " +
                                               files.stem + " is at work");
        }
    } catch (...) {
        storage::discard_file(path_);
        throw;
    }
}

Gate::~Gate() {
    storage::discard_file(path_);
}

void Gate::follow(const std::string& folder) {
    path_ = Folder::gate_path(folder);
}

void Gate::refuse_closed(const Folder& folder) {
    const std::string path = folder.gate_path();
    const Descriptor gate(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (gate.get() >= 0 && !is_dead(gate, LOCK_SH)) refuse(folder, text_of(gate));
    if (!folder.is_store()) {
        throw Error(ErrorCode::not_found, "the store " + folder.path() + " is gone: it was moved or removed");
    }
}

bool Gate::remove_dead(const Folder& folder) {
    const std::string path = folder.gate_path();
    const Descriptor gate(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    // With the lock nobody else removes it, and who made another one since has another file there.
    if (gate.get() < 0 || !is_dead(gate, LOCK_EX) || !is_still(gate, path)) return false;
    return storage::remove_file(path).ok();
}

}  // namespace hakobi::store
