/* Records the writes and syncs of a process in the files of one directory, and what it sends through
 * pipes, in order. Tests load it before the C library with LD_PRELOAD.
 *
 * A record: operation (1 byte), file (8), offset (8), length (8), then that many bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPENED = 1, WROTE, CUT, SYNCED, RENAMED, REMOVED, SENT, SYNCED_DIR };

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static const char *dir;
static size_t dir_length;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_writev)(int, const struct iovec *, int);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_ftruncate)(int, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_rename)(const char *, const char *);
static int (*real_unlink)(const char *);

__attribute__((constructor)) static void begin(void) {
  real_write = dlsym(RTLD_NEXT, "write");
  real_writev = dlsym(RTLD_NEXT, "writev");
  real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
  real_open = dlsym(RTLD_NEXT, "open64");
  real_openat = dlsym(RTLD_NEXT, "openat64");
  real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
  real_fsync = dlsym(RTLD_NEXT, "fsync");
  real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
  real_rename = dlsym(RTLD_NEXT, "rename");
  real_unlink = dlsym(RTLD_NEXT, "unlink");
  dir = getenv("POWER_DIR");
  const char *log = getenv("POWER_LOG");
  if (dir && log) {
    dir_length = strlen(dir);
    log_fd = real_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
}

static void put(const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    ssize_t done = real_write(log_fd, at, length);
    if (done < 0) {
      if (errno == EINTR) continue;
      abort();
    }
    at += done;
    length -= (size_t)done;
  }
}

static void record(uint8_t what, uint64_t file, uint64_t offset, const void *bytes, uint64_t length) {
  unsigned char head[25];
  head[0] = what;
  memcpy(head + 1, &file, 8);
  memcpy(head + 9, &offset, 8);
  memcpy(head + 17, &length, 8);
  put(head, sizeof head);
  put(bytes, length);
}

static int inside(const char *path) {
  return log_fd >= 0 && path && strncmp(path, dir, dir_length) == 0;
}

/* The inode of a file in the directory; 0 for other files. */
static uint64_t file_of(int fd, mode_t kind) {
  struct stat about;
  char link[64], path[4096];
  if (log_fd < 0 || fd == log_fd || fstat(fd, &about) != 0 || (about.st_mode & S_IFMT) != kind) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return inside(path) ? about.st_ino : 0;
}

static int is_pipe(int fd) {
  struct stat about;
  return log_fd >= 0 && fd != 2 && fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

ssize_t write(int fd, const void *bytes, size_t length) {
  if (!real_write) begin();
  if (is_pipe(fd)) {
    pthread_mutex_lock(&order);
    record(SENT, (uint64_t)fd, 0, bytes, length);
    pthread_mutex_unlock(&order);
    return real_write(fd, bytes, length);
  }
  uint64_t file = file_of(fd, S_IFREG);
  if (!file) return real_write(fd, bytes, length);
  pthread_mutex_lock(&order);
  off_t at = lseek(fd, 0, SEEK_CUR);
  ssize_t done = real_write(fd, bytes, length);
  if (done > 0) record(WROTE, file, (uint64_t)at, bytes, (uint64_t)done);
  pthread_mutex_unlock(&order);
  return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (is_pipe(fd)) {
    pthread_mutex_lock(&order);
    for (int i = 0; i < count; i++) record(SENT, (uint64_t)fd, 0, parts[i].iov_base, parts[i].iov_len);
    pthread_mutex_unlock(&order);
  }
  return real_writev(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  uint64_t file = file_of(fd, S_IFREG);
  if (!file) return real_pwrite(fd, bytes, length, at);
  pthread_mutex_lock(&order);
  ssize_t done = real_pwrite(fd, bytes, length, at);
  if (done > 0) record(WROTE, file, (uint64_t)at, bytes, (uint64_t)done);
  pthread_mutex_unlock(&order);
  return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return pwrite64(fd, bytes, length, at); }

static void opened(int fd, const char *path, int flags) {
  int saved = errno;
  if (fd >= 0 && (flags & O_ACCMODE) != O_RDONLY) {
    uint64_t file = file_of(fd, S_IFREG);
    if (file) {
      pthread_mutex_lock(&order);
      record(OPENED, file, 0, path, strlen(path));
      if (flags & O_TRUNC) record(CUT, file, 0, "", 0);
      pthread_mutex_unlock(&order);
    }
  }
  errno = saved;
}

int open64(const char *path, int flags, ...) {
  if (!real_open) begin();
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  int fd = real_open(path, flags, mode);
  opened(fd, path, flags);
  return fd;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return open64(path, flags, mode);
}

int ftruncate64(int fd, off64_t length) {
  uint64_t file = file_of(fd, S_IFREG);
  if (!file) return real_ftruncate(fd, length);
  pthread_mutex_lock(&order);
  int done = real_ftruncate(fd, length);
  if (done == 0) record(CUT, file, (uint64_t)length, "", 0);
  pthread_mutex_unlock(&order);
  return done;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int synced(int fd, int (*real)(int)) {
  uint64_t file = file_of(fd, S_IFREG), folder = file ? 0 : file_of(fd, S_IFDIR);
  if (!file && !folder) return real(fd);
  pthread_mutex_lock(&order);
  int done = real(fd);
  if (done == 0) record(file ? SYNCED : SYNCED_DIR, file ? file : folder, 0, "", 0);
  pthread_mutex_unlock(&order);
  return done;
}

int fsync(int fd) { return synced(fd, real_fsync); }
int fdatasync(int fd) { return synced(fd, real_fdatasync); }

int rename(const char *from, const char *to) {
  if (!inside(to)) return real_rename(from, to);
  pthread_mutex_lock(&order);
  int done = real_rename(from, to);
  if (done == 0) {
    char both[8192];
    int length = snprintf(both, sizeof both, "%s\n%s", from, to);
    record(RENAMED, 0, 0, both, (uint64_t)length);
  }
  pthread_mutex_unlock(&order);
  return done;
}

int unlink(const char *path) {
  if (!inside(path)) return real_unlink(path);
  pthread_mutex_lock(&order);
  int done = real_unlink(path);
  if (done == 0) record(REMOVED, 0, 0, path, strlen(path));
  pthread_mutex_unlock(&order);
  return done;
}
