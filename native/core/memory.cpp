/** Large blocks of memory. */
#include <cstdlib>

#include "../tensorloom.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {
/** A large page. Blocks are whole ones: a part of one would be in small ones, of which the processor must look up hundreds. */
constexpr size_t kPage = size_t{1} << 21;
size_t wholePages(int64_t bytes) { return (static_cast<size_t>(bytes) + kPage - 1) & ~(kPage - 1); }
}  // namespace

#if defined(__linux__)
/**
 * A fresh block of 100 MB costs 25,000 page faults when it is first written, several times what writing it costs. With
 * large pages it costs fifty. Only whole large pages inside the block can be advised about.
 */
TL_API void tl_prefer_large_pages(void* memory, int64_t bytes) {
  const auto start = (reinterpret_cast<uintptr_t>(memory) + kPage - 1) & ~(kPage - 1);
  const auto end = (reinterpret_cast<uintptr_t>(memory) + static_cast<uintptr_t>(bytes)) & ~(kPage - 1);
  if (end > start) madvise(reinterpret_cast<void*>(start), end - start, MADV_HUGEPAGE);
}
#else
TL_API void tl_prefer_large_pages(void*, int64_t) {}
#endif

#if defined(_WIN32)
TL_API void* tl_allocate(int64_t bytes) { return _aligned_malloc(wholePages(bytes), kPage); }
TL_API void tl_release(void* block, int64_t) { _aligned_free(block); }
#elif defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
/**
 * Blocks are mapped, for the heap gives out again what it has in small pages already, and keeps what was given back as long as
 * something above it is in use.
 */
TL_API void* tl_allocate(int64_t bytes) {
  const size_t whole = wholePages(bytes);
  void* const mapped = mmap(nullptr, whole + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const size_t before = -reinterpret_cast<uintptr_t>(mapped) & (kPage - 1);
  char* const block = static_cast<char*>(mapped) + before;
  if (before > 0) munmap(mapped, before);
  munmap(block + whole, kPage - before);
  tl_prefer_large_pages(block, static_cast<int64_t>(whole));
  return block;
}
TL_API void tl_release(void* block, int64_t bytes) { munmap(block, wholePages(bytes)); }
#else
TL_API void* tl_allocate(int64_t bytes) {
  void* block = nullptr;
  return posix_memalign(&block, kPage, wholePages(bytes)) == 0 ? block : nullptr;
}
TL_API void tl_release(void* block, int64_t) { std::free(block); }
#endif
