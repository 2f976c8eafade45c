#include "storage/posix_abilities.hpp"

#include <gtest/gtest.h>

namespace hakobi::storage {
namespace {

constexpr long nfs = 0x6969, smb = 0xFE534D42, lustre = 0x0BD00BD0, fuse = 0x65735546, tmpfs = 0x01021994;

bool may_share_blocks(long magic, std::string_view line) {
    return shared_abilities(magic, line).writer_block_bytes == 1;
}
bool locks(long magic, std::string_view line) {
    return shared_abilities(magic, line).locks_ranges;
}

TEST(SharedAbilities, NfsNodesShareNoBlockAndLockAsMounted) {
    const auto* line = "26 16 0:23 / /srv rw - nfs4 s:/e rw,vers=4.1,wsize=524288,hard,local_lock=none";
    EXPECT_EQ(shared_abilities(nfs, line).file_system, "nfs");
    EXPECT_FALSE(may_share_blocks(nfs, line));
    EXPECT_FALSE(may_share_blocks(nfs, "1 2 0:3 / /srv rw - nfs4 s:/e rw,noac"));
    EXPECT_TRUE(locks(nfs, line));
    EXPECT_FALSE(locks(nfs, "1 2 0:3 / /srv rw - nfs s:/e rw,vers=3,nolock,noac"));
    EXPECT_FALSE(locks(nfs, ""));
}

TEST(SharedAbilities, SmbNodesShareBlocksUnlessOneCachesAlone) {
    EXPECT_TRUE(may_share_blocks(smb, "1 2 0:3 / /srv rw - cifs //s/e rw,cache=strict"));
    EXPECT_TRUE(may_share_blocks(smb, "1 2 0:3 / /srv rw - cifs //s/e rw,cache=none"));
    EXPECT_FALSE(may_share_blocks(smb, "1 2 0:3 / /srv rw - cifs //s/e rw,cache=loose"));
    EXPECT_FALSE(locks(smb, "1 2 0:3 / /srv rw - cifs //s/e rw,nobrl"));
}

TEST(SharedAbilities, OfFuseOnlyNamedOnesLock) {
    EXPECT_FALSE(locks(fuse, "1 2 0:3 / /srv rw - fuse.sshfs a:/ rw"));
    EXPECT_TRUE(locks(fuse, "1 2 0:3 / /srv rw - fuse.glusterfs a:/v rw"));
    EXPECT_FALSE(may_share_blocks(fuse, "1 2 0:3 / /srv rw - fuse.glusterfs a:/v rw"));
    EXPECT_TRUE(may_share_blocks(fuse, "1 2 0:3 / /srv rw - fuseblk /dev/a rw"));
    EXPECT_TRUE(locks(fuse, "1 2 0:3 / /srv rw - fuseblk /dev/a rw"));
}

TEST(SharedAbilities, LustreLocksUnlessMountedWithout) {
    EXPECT_TRUE(locks(lustre, "1 2 0:3 / /srv rw - lustre s:/e rw,flock"));
    EXPECT_FALSE(locks(lustre, "1 2 0:3 / /srv rw - lustre s:/e rw,localflock"));
    EXPECT_TRUE(may_share_blocks(lustre, "1 2 0:3 / /srv rw - lustre s:/e rw,flock"));
}

TEST(SharedAbilities, OneOfThisMachineDoesAll) {
    EXPECT_TRUE(locks(tmpfs, ""));
    EXPECT_TRUE(may_share_blocks(tmpfs, ""));
    EXPECT_EQ(words_of(shared_abilities(tmpfs, "")),
              "a file system of this machine; blocks of 4096 bytes; locks hold between nodes");
}

TEST(SharedAbilities, WordsSayWhatNodesMayNot) {
    EXPECT_EQ(words_of(shared_abilities(fuse, "1 2 0:3 / /srv rw - fuse.sshfs a:/ rw")),
              "fuse; blocks of 4096 bytes; nodes may not write to one block of 4096 bytes at once; no locks "
              "between nodes: "
              "holes are not filled");
}

}  // namespace
}  // namespace hakobi::storage
