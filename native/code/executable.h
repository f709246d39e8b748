/** Memory with machine code in it. */
#pragma once
#include <cstdint>
#include <vector>

namespace tl {

/**
 * Machine code that can be called. The same bytes are kept once for everybody: the steps of an unrolled loop, say, are the same
 * code for other addresses.
 */
class Executable {
 public:
  Executable() = default;
  /** Empty where the system lets no process make code, or for a processor of another kind. */
  explicit Executable(const std::vector<uint8_t>& code);
  Executable(Executable&& other) noexcept : kept_(other.kept_) { other.kept_ = nullptr; }
  Executable& operator=(Executable&& other) noexcept {
    Kept* const mine = kept_;
    kept_ = other.kept_;
    other.kept_ = mine;
    return *this;
  }
  ~Executable();

  explicit operator bool() const { return kept_ != nullptr; }
  const void* at(int64_t offset) const;

 private:
  struct Kept;
  friend struct KeptCode;
  Kept* kept_ = nullptr;
};

}  // namespace tl
