/** What a parser found, where only it knows how much that is: TypeScript asks for the sizes and then for the contents. */
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace tl {

/** Memory that grows. New parts of it are not cleared. */
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept : data_(other.data_), size_(other.size_), room_(other.room_) {
    other.data_ = nullptr;
    other.size_ = other.room_ = 0;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { free(data_); }

  /** Room for more bytes at the end. */
  uint8_t* grow(size_t bytes) {
    if (bytes > room_ - size_) {
      const size_t room = size_ + bytes > 2 * room_ ? size_ + bytes : 2 * room_;
      void* moved = realloc(data_, room);
      if (moved == nullptr) throw std::bad_alloc();
      data_ = static_cast<uint8_t*>(moved);
      room_ = room;
    }
    uint8_t* end = data_ + size_;
    size_ += bytes;
    return end;
  }

  template <typename T>
  void push(T value) {
    memcpy(grow(sizeof value), &value, sizeof value);
  }

  void append(const void* from, size_t bytes) {
    if (bytes > 0) memcpy(grow(bytes), from, bytes);
  }

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  void clear() { size_ = 0; }
  /** Leaves the first bytes. */
  void cut(size_t bytes) { size_ = bytes < size_ ? bytes : size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

/** The blocks that a call leaves behind, until `tl_blocks_free`. */
struct Blocks {
  explicit Blocks(size_t count) : list(count) {}
  std::vector<Block> list;
};

/** Lets `fill` fill blocks, and gives them to TypeScript; 0 where it says that it cannot, or where there is no memory. */
template <typename Fill>
int64_t blocksFrom(size_t count, Fill fill) {
  try {
    auto* blocks = new Blocks(count);
    try {
      if (fill(blocks->list)) return reinterpret_cast<int64_t>(blocks);
    } catch (const std::bad_alloc&) {
      // There is less to be done about it here than in TypeScript.
    }
    delete blocks;
  } catch (const std::bad_alloc&) {
  }
  return 0;
}

}  // namespace tl
