/** Large blocks of memory. */
#include <cstdlib>

#include "../tensorloom.h"

#if defined(__linux__)
#include <sys/mman.h>

/**
 * A fresh block of 100 MB costs 25,000 page faults when it is first written, several times what writing it costs. With
 * large pages it costs fifty. Only whole large pages inside the block can be advised about.
 */
TL_API void tl_prefer_large_pages(void* memory, int64_t bytes) {
    constexpr uintptr_t page = uintptr_t{1} << 21;
    const auto start = (reinterpret_cast<uintptr_t>(memory) + page - 1) & ~(page - 1);
    const auto end = (reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(bytes)) & ~(page - 1);
    if (end > start) madvise(reinterpret_cast<void*>(start), end - start, MADV_HUGEPAGE);
}
#else
TL_API void tl_prefer_large_pages(void*, int64_t) {}
#endif

namespace {
/** Blocks are whole large pages: a part of one would be in small ones, of which the processor must look up hundreds. */
constexpr size_t kAlignment = size_t{1} << 21;
}  // namespace

#if defined(_WIN32)
TL_API void* tl_allocate(int64_t bytes) { return _aligned_malloc(static_cast<size_t>(bytes), kAlignment); }
TL_API void tl_release(void* block) { _aligned_free(block); }
#else
TL_API void* tl_allocate(int64_t bytes) {
  void* block = nullptr;
  const size_t whole = (static_cast<size_t>(bytes) + kAlignment - 1) & ~(kAlignment - 1);
  if (posix_memalign(&block, kAlignment, whole) != 0) return nullptr;
  tl_prefer_large_pages(block, static_cast<int64_t>(whole));
  return block;
}
TL_API void tl_release(void* block) { std::free(block); }
#endif
