#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace hakobi::storage {

/// How a file's bytes, or a part of them, lie on servers: `stripe_bytes` at a time on `num_stripes` objects
/// in turn. The first stripe of an object begins at a multiple of stripe_bytes x num_stripes from the file's
/// begin, also where a part begins behind it.
struct Striping {
    std::int64_t stripe_bytes = 0;
    /// Objects written side by side; there may be several on a server (overstriping). 0: with the metadata,
    /// on no such server.
    int num_stripes = 0;
    /// The server of each object, in stripe order; empty: not known, as before the first byte of a part.
    std::vector<int> servers = {};
    int stripes_per_server = 1;  ///< where `servers` is not known: so many objects are on a server
    /// Most bytes of an object, after which the next `num_stripes` objects begin, on servers that a hash
    /// chooses (CephFS); 0: no limit.
    std::int64_t object_bytes = 0;

    /// Servers that hold bytes of it; 0: not known, since a hash chooses them.
    [[nodiscard]] int num_servers() const;
    friend bool operator==(const Striping&, const Striping&) = default;
};

/// The stripe that a byte is in.
struct Stripe {
    std::int64_t begin_bytes = 0, end_bytes = 0;  ///< in the file, within its part
    std::int64_t object = 0;  ///< 0, 1, … in stripe order; beyond num_stripes where objects are limited
    int server = -1;          ///< as Layout::server_of
};

/// Where a file's bytes lie: a value, as a storage says it (File::layout) or is asked for it
/// (layout_wish.hpp). Pure.
struct Layout {
    static constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
    /// The bytes [begin_bytes, end_bytes) of the file.
    struct Part {
        std::int64_t begin_bytes = 0, end_bytes = no_end;
        Striping striping;
        friend bool operator==(const Part&, const Part&) = default;
    };
    /// In order from 0, each where the one before ends; the last may end before the file can (what comes then
    /// is not known). One for a plain layout, several for a composite one; none: the storage has no stripes,
    /// or does not say.
    std::vector<Part> parts;

    [[nodiscard]] static Layout plain(Striping striping);
    [[nodiscard]] bool is_striped() const { return !parts.empty(); }
    [[nodiscard]] bool is_composite() const { return parts.size() > 1; }
    /// The part that `offset` is in; null: none.
    [[nodiscard]] const Part* part_at(std::int64_t offset) const;
    /// The stripe that accesses are aligned to, and the number of objects side by side, in the last part of
    /// the layout, which holds the bulk of a large file. 0 where there are no stripes.
    [[nodiscard]] std::int64_t stripe_bytes() const;
    [[nodiscard]] int num_stripes() const;
    [[nodiscard]] int num_servers() const;
    /// The stripe of `offset`; {0, no_end} on server -1 where there is none.
    [[nodiscard]] Stripe stripe_at(std::int64_t offset) const;
    /// The server of the byte at `offset`, by its id where ids are known; else a number from 0 on that is
    /// equal for bytes of one server of a part. -1: not known.
    [[nodiscard]] int server_of(std::int64_t offset) const;
    /// For people: "8 stripes of 4 MiB on servers 3 to 10"; "no stripes".
    [[nodiscard]] std::string text() const;
    friend bool operator==(const Layout&, const Layout&) = default;
};

}  // namespace hakobi::storage
