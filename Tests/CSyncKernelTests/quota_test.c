/* quota_test.c: how many processors the cgroups give, read from made-up files. */
#include "test.h"

#include "base/quota.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>

static char root[64];

static void make_root(void) {
    strcpy(root, "/tmp/csk_quota_XXXXXX");
    CHECK(mkdtemp(root) != NULL);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
    (void)status, (void)type, (void)walk;
    return remove(path);
}
static void remove_root(void) { CHECK_EQ(nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0); }

static void write_file(const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        CHECK(mkdir(whole, 0755) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    CHECK(file != NULL);
    fputs(text, file);
    CHECK_EQ(fclose(file), 0);
}

static void begin(const char *groups, const char *mounts) {
    make_root();
    write_file("/proc/self/cgroup", groups);
    write_file("/proc/self/mountinfo", mounts);
}

static void expect(bool known, uint32_t processors) {
    csk_quota_t quota = csk_quota_read(root);
    remove_root();
    CHECK_EQ(quota.known, known);
    CHECK_EQ(quota.processors, processors);
}

static const char v2_mount[] = "22 1 0:21 / /proc rw,nosuid - proc proc rw\n"
                               "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:1 - "
                               "cgroup2 cgroup2 rw,nsdelegate\n";

static void the_least_quota_along_the_path_counts(void) {
    begin("0::/slice/service/leaf\n", v2_mount);
    write_file("/sys/fs/cgroup/slice/cpu.max", "300000 100000\n");
    write_file("/sys/fs/cgroup/slice/service/cpu.max", "200000 100000\n");
    write_file("/sys/fs/cgroup/slice/service/leaf/cpu.max", "max 100000\n");
    write_file("/sys/fs/cgroup/other/cpu.max", "100000 100000\n");
    expect(true, 2);
}

static void a_part_of_a_processor_is_one(void) {
    static const struct {
        const char *text;
        uint32_t processors;
    } quotas[] = {
        { "50000 100000\n", 1 },  { "1000 1000000\n", 1 },  { "100000 100000", 1 },
        { "100001 100000\n", 2 }, { "250000 100000\n", 3 }, { "6400000 50000\n", 128 },
        { "max 100000\n", 0 },    { "max\n", 0 },           { "50000\n", 1 },
    };
    for (size_t i = 0; i < sizeof quotas / sizeof quotas[0]; i++) {
        begin("0::/a\n", v2_mount);
        write_file("/sys/fs/cgroup/a/cpu.max", quotas[i].text);
        expect(true, quotas[i].processors);
    }
}

static void a_group_without_the_file_has_no_quota(void) {
    begin("0::/\n", v2_mount);
    expect(true, 0);
    begin("0::/a/b\n", v2_mount);
    expect(true, 0);
}

/* In a container whose files show the host's path, and in one that has a namespace of its own. */
static void a_mount_shows_a_part_of_the_tree(void) {
    begin("0::/docker/abc/inner\n", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    write_file("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    write_file("/sys/fs/cgroup/inner/cpu.max", "150000 100000\n");
    expect(true, 2);
    begin("0::/docker/abc\n", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    write_file("/sys/fs/cgroup/cpu.max", "400000 100000\n");
    expect(true, 4);
    begin("0::/docker/abcdef\n", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
    write_file("/sys/fs/cgroup/cpu.max", "500000 100000\n");
    write_file("/sys/fs/cgroup/def/cpu.max", "100000 100000\n");
    expect(true, 5);
    begin("0::/../sibling\n", v2_mount);
    write_file("/sys/fs/cgroup/cpu.max", "300000 100000\n");
    expect(true, 3);
}

static void version_1_has_two_files(void) {
    static const char mounts[] = "32 31 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                 "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                                 "34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    static const char groups[] = "9:memory:/b\n5:cpuset:/c\n4:cpu,cpuacct:/a/b\n1:name=systemd:/d\n0::/e\n";
    begin(groups, mounts);
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "120000\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
    expect(true, 2);
    begin(groups, mounts);
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    expect(true, 0);
    begin(groups, mounts);
    expect(false, 0);
}

static void a_mount_point_may_have_a_space(void) {
    begin("0::/a\n", "30 23 0:26 / /my\\040groups\\134x rw - cgroup2 cgroup rw\n");
    write_file("/my groups\\x/a/cpu.max", "700000 100000\n");
    expect(true, 7);
}

/* What is unreadable says nothing, and a line as no system writes it is passed over. */
static void what_cannot_be_read_is_not_known(void) {
    make_root();
    expect(false, 0);
    make_root();
    write_file("/proc/self/cgroup", "0::/a\n");
    expect(false, 0);
    begin("0::/a\n", "22 1 0:21 / /proc rw - proc proc rw\n");
    expect(false, 0);
    begin("", v2_mount);
    expect(true, 0);
    begin("x\n0:\n0::/a\n", "\n30\n30 23 0:26 /\n - \n - cgroup2\n30 23 0:26 / /m rw - cgroup2 c rw\n");
    write_file("/m/a/cpu.max", "nonsense\n");
    expect(true, 0);
}

static void the_system_s_own_files_are_read(void) {
    csk_quota_t quota = csk_quota_read("");
    CHECK(quota.known || quota.processors == 0);
}

TEST_MAIN(TEST(the_least_quota_along_the_path_counts), TEST(a_part_of_a_processor_is_one),
          TEST(a_group_without_the_file_has_no_quota), TEST(a_mount_shows_a_part_of_the_tree),
          TEST(version_1_has_two_files), TEST(a_mount_point_may_have_a_space), TEST(what_cannot_be_read_is_not_known),
          TEST(the_system_s_own_files_are_read))
