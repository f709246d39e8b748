/** Owning pointers. std::unique_ptr would do, were it not that its header takes longer to compile than most files here. */
#pragma once

namespace tl {

template <class T>
class Owned {
 public:
  Owned() = default;
  explicit Owned(T* object) : object_(object) {}
  /** Takes over from another owner, of T or of a class derived from it. */
  template <class Other>
  Owned(Owned<Other>&& other) : object_(other.release()) {}
  Owned(Owned&& other) noexcept : object_(other.release()) {}
  Owned& operator=(Owned&& other) noexcept {
    T* const mine = object_;
    object_ = other.release();
    delete mine;
    return *this;
  }
  ~Owned() { delete object_; }

  T* release() {
    T* const object = object_;
    object_ = nullptr;
    return object;
  }
  T* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }

 private:
  T* object_ = nullptr;
};

/** A new T and its owner. */
template <class T, class... Args>
Owned<T> make(Args&&... args) {
  return Owned<T>(new T(static_cast<Args&&>(args)...));
}

}  // namespace tl
