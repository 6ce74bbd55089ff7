/* A disk that is full: from the n-th write below a folder on, every write there fails with ENOSPC. Writes are calls that
   need space: write, pwrite, writev, and creating a file or a folder. Loaded with LD_PRELOAD; fill(folder, n) begins to
   count, with n = 0 only counts, and n_writes() says how many there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long first, seen;

void fill(const char *below, long n) { seen = 0; first = n; snprintf(folder, sizeof folder, "%s/", below); }
long n_writes(void) { return seen; }

static int is_full(void) { long now = __sync_add_and_fetch(&seen, 1); return first && now >= first; }

static int is_below(const char *path) {
    char full[2 * PATH_MAX], here[PATH_MAX];
    if (!folder[0]) return 0;
    if (path[0] == '/') return strncmp(path, folder, strlen(folder)) == 0;
    if (!getcwd(here, sizeof here)) return 0;
    snprintf(full, sizeof full, "%s/%s", here, path);
    return strncmp(full, folder, strlen(folder)) == 0;
}

static int is_ours(int file) {
    char link[64], path[PATH_MAX];
    if (!folder[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return 0;
    path[n] = 0;
    return strncmp(path, folder, strlen(folder)) == 0;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define FULL do { errno = ENOSPC; return -1; } while (0)

ssize_t write(int file, const void *data, size_t n) { REAL(write); if (is_ours(file) && is_full()) FULL; return real(file, data, n); }
ssize_t pwrite(int file, const void *data, size_t n, off_t at) { REAL(pwrite); if (is_ours(file) && is_full()) FULL; return real(file, data, n, at); }
ssize_t pwrite64(int file, const void *data, size_t n, off64_t at) { REAL(pwrite64); if (is_ours(file) && is_full()) FULL; return real(file, data, n, at); }
ssize_t writev(int file, const struct iovec *parts, int n) { REAL(writev); if (is_ours(file) && is_full()) FULL; return real(file, parts, n); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); if (is_below(path) && access(path, F_OK) && is_full()) FULL; return real(path, mode); }

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); \
        if ((flags & O_CREAT) && is_below(path) && access(path, F_OK) && is_full()) FULL; \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)
