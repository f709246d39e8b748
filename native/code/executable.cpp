/** Memory with machine code in it, which is written first and executable then, never both. */
#include "executable.h"

#include <cstring>
#include <map>
#include <mutex>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/mman.h>
#endif

namespace tl {

struct Executable::Kept {
  const std::vector<uint8_t>* code = nullptr;
  void* memory = nullptr;
  int64_t users = 0;
};

/** All code there is, by its bytes. */
struct KeptCode {
  std::mutex mutex;
  std::map<std::vector<uint8_t>, Executable::Kept> all;

  /** Lives as long as the process: programs may end after what is static has. */
  static KeptCode& get() {
    static KeptCode* const kept = new KeptCode;
    return *kept;
  }
};

namespace {

#if defined(__x86_64__) && defined(__linux__)
void* place(const std::vector<uint8_t>& code) {
  void* const memory = mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  std::memcpy(memory, code.data(), code.size());
  if (mprotect(memory, code.size(), PROT_READ | PROT_EXEC) == 0) return memory;
  munmap(memory, code.size());
  return nullptr;
}
void unplace(void* memory, size_t bytes) { munmap(memory, bytes); }
#else
void* place(const std::vector<uint8_t>&) { return nullptr; }
void unplace(void*, size_t) {}
#endif

}  // namespace

Executable::Executable(const std::vector<uint8_t>& code) {
  KeptCode& kept = KeptCode::get();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  const auto found = kept.all.try_emplace(code).first;
  Kept& mine = found->second;
  if (!mine.memory) mine.memory = place(code);
  if (!mine.memory) {
    kept.all.erase(found);
    return;
  }
  mine.code = &found->first;
  mine.users++;
  kept_ = &mine;
}

Executable::~Executable() {
  if (!kept_) return;
  KeptCode& kept = KeptCode::get();
  const std::lock_guard<std::mutex> lock(kept.mutex);
  if (--kept_->users > 0) return;
  unplace(kept_->memory, kept_->code->size());
  kept.all.erase(kept.all.find(*kept_->code));
}

const void* Executable::at(int64_t offset) const { return static_cast<const char*>(kept_->memory) + offset; }

}  // namespace tl
