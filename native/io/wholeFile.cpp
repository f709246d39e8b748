/** @file Small files read in one call, where asking the system step by step from JavaScript costs more than the reading. */
#include <cstdlib>
#include <cstring>

#include "../tensorloom.h"

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#endif

namespace {
/** A file's bytes, behind their number. */
struct Content {
  int64_t bytes;
  uint8_t data[];
};

Content* contentOf(int file, int64_t most) {
  struct stat about;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size <= 0 || about.st_size > most) return nullptr;
  auto* content = static_cast<Content*>(std::malloc(sizeof(Content) + size_t(about.st_size)));
  if (!content) return nullptr;
  content->bytes = 0;
  while (content->bytes < about.st_size) {
    const ssize_t some = read(file, content->data + content->bytes, size_t(about.st_size - content->bytes));
    if (some > 0) content->bytes += some;
    if (some == 0) break;
    if (some < 0) {
      std::free(content);
      return nullptr;
    }
  }
  return content;
}
}  // namespace

/** A regular file that is neither empty nor longer than `most`; 0 for anything else, whatever is the matter with it. */
TL_API int64_t tl_file_read(const char* path, int64_t most) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  Content* content = contentOf(file, most);
  close(file);
  return reinterpret_cast<int64_t>(content);
}

/**
 * A regular file that is neither empty nor longer than `room`, if all of it is in memory: nothing here waits for a disk. Gives
 * its length, or 0 for anything else, and where the system cannot be asked like that.
 */
TL_API int64_t tl_file_cached(const char* path, int64_t to, int64_t room) {
#if defined(SYS_openat2) && defined(RWF_NOWAIT) && defined(RESOLVE_CACHED)
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_CACHED;
  const int file = int(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
  if (file < 0) return 0;
  struct stat about;
  int64_t bytes = 0;
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 && about.st_size <= room) {
    const struct iovec part = {reinterpret_cast<void*>(to), size_t(room)};
    const ssize_t some = preadv2(file, &part, 1, 0, RWF_NOWAIT);
    // Less is what was in memory, or a file that somebody is shortening.
    if (some == about.st_size) bytes = some;
  }
  close(file);
  return bytes;
#else
  return 0;
#endif
}

TL_API int64_t tl_file_size(int64_t content) { return reinterpret_cast<Content*>(content)->bytes; }

/** Copies what was read, and forgets it. */
TL_API void tl_file_take(int64_t content, int64_t to) {
  auto* read = reinterpret_cast<Content*>(content);
  std::memcpy(reinterpret_cast<void*>(to), read->data, size_t(read->bytes));
  std::free(read);
}
#endif
