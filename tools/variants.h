/**
 * The library on each of its instruction sets, for programs that measure errors, and what its README says of them.
 *
 * A library chooses its instruction set once, when it is first asked; copies of its file are libraries of their own.
 */
#pragma once
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

constexpr int64_t kBlock = 1 << 16;
constexpr const char* kVariants[] = {"portable", "avx2", "avx512"};

/** The library on one instruction set. */
class Variant {
 public:
  Variant(const std::string& library, const char* name) {
    setenv("TENSORLOOM_SIMD", name, 1);
    const std::string copy = std::filesystem::temp_directory_path() / ("accuracy-" + std::to_string(getpid()) + name);
    std::filesystem::copy_file(library, copy, std::filesystem::copy_options::overwrite_existing);
    handle_ = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    unlink(copy.c_str());
    if (!handle_) std::fprintf(stderr, "%s\n", dlerror());
    else isThere_ = std::string(call<const char*>("tl_variant")) == name;
  }
  bool isThere() const { return isThere_; }

  /** A program of one map of kBlock elements of a type: `op` of one or two operands. With `widened` it is cast, which no generated loop does. */
  void* program(const std::string& op, int operands, const char* type, bool widened) const {
    std::vector<int64_t> words = {1, code("instruction", "map"), 1, kBlock, operands};
    const auto view = [&](const char* dtype, int64_t slot) {
      for (const int64_t word : {code("dtype", dtype), slot, slot, int64_t{0}, int64_t{1}, kBlock, int64_t{1}}) words.push_back(word);
    };
    for (int i = 0; i < operands; i++) view(type, i);
    words.push_back(operands + (widened ? 2 : 1));
    for (int64_t i = 0; i < operands; i++)
      for (const int64_t word : {code("op", "input"), code("dtype", type), i}) words.push_back(word);
    words.insert(words.end(), {code("op", op.c_str()), code("dtype", type)});
    for (int64_t i = 0; i < operands; i++) words.push_back(i);
    if (widened) words.insert(words.end(), {code("op", "cast"), code("dtype", "f64"), operands});
    words.push_back(1);
    view(widened ? "f64" : type, operands);
    words.push_back(operands + (widened ? 1 : 0));
    char error[200] = "";
    void* made = call<void*>("tl_program_create", words.data(), static_cast<int64_t>(words.size()), error, int64_t{200});
    if (!made) std::fprintf(stderr, "%s: %s\n", op.c_str(), error), std::exit(1);
    return made;
  }
  void run(void* program, std::vector<void*> table) const {
    double result[4];
    call<int64_t>("tl_program_run", program, static_cast<void* const*>(table.data()), static_cast<double*>(result),
                  static_cast<double*>(nullptr), int32_t{1}, int64_t{0}, std::numeric_limits<double>::infinity());
  }

 private:
  int64_t code(const char* family, const char* name) const { return call<int64_t>("tl_code", family, name); }
  template <class Result, class... Args>
  Result call(const char* name, Args... args) const {
    return reinterpret_cast<Result (*)(Args...)>(dlsym(handle_, name))(args...);
  }

  void* handle_;
  bool isThere_ = false;
};

/** What the README says of a function in a column of its table, the first of which is 0. */
inline double promised(const char* readme, const std::string& name, int column) {
  std::ifstream file(readme);
  const std::string row = "| `" + name + "` | ";
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, row.size(), row) != 0) continue;
    std::istringstream cells(line.substr(row.size()));
    std::string cell;
    for (int i = 0; i <= column; i++) std::getline(cells, cell, '|');
    return std::stod(cell);
  }
  std::fprintf(stderr, "%s says nothing of %s\n", readme, name.c_str());
  std::exit(1);
}
