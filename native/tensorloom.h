/** The C ABI of the cpu device: programs in, numbers out. Everything else in native/ is private. */
#pragma once
#include <cstdint>

#if defined(_WIN32)
#define TL_API extern "C" __declspec(dllexport)
#else
#define TL_API extern "C" __attribute__((visibility("default")))
#endif

/** Rises whenever the encoding below changes; the TypeScript side refuses a library of another version. */
TL_API int64_t tl_version();

/**
 * The name of the instruction-set variant chosen for this processor: `avx512`, `avx2` or `portable`. Empty when none of
 * those compiled can run here; then nothing else may be called.
 */
TL_API const char* tl_variant();

/**
 * The number that stands for `name` in encoded programs, or -1. Families: `dtype`, `op`, `instruction`, `reduce`,
 * `combine`, `bounds`, `scan`, `window`, `random`, `failure`, `conv`.
 */
TL_API int64_t tl_code(const char* family, const char* name);

/**
 * Decodes and prepares a program. The words are not kept. Returns null and writes a message of at most `room` bytes to
 * `error` when the program makes no sense.
 *
 * Words: instruction count, then per instruction its kind and operands as each family's `decode` reads them. A view is
 * dtype, table slot, storage (equal where memory may be shared), byte offset, rank, sizes, strides in elements.
 */
TL_API void* tl_program_create(const int64_t* words, int64_t count, char* error, int64_t room);

/**
 * Runs a program on at most `threads` threads, 0 asking for all processors. `table` holds the addresses of the arena, of
 * the constants, then of the bound buffers. Programs may run at the same time, but not one program twice.
 * It begins with instruction `first`, and ends after the last one, or after the first that ends when `nanoseconds` are over: who wants the
 * rest calls again, with the same table. Returns the number of the next instruction, or -1 with `result` = {failure code, instruction,
 * position, value}.
 * `times`, if not null, receives the start and end of every instruction: all starts, then all ends, in nanoseconds of
 * the monotonic clock.
 */
TL_API int64_t tl_program_run(void* program, void* const* table, double* result, double* times, int32_t threads, int64_t first,
                              double nanoseconds);

TL_API void tl_program_free(void* program);

/** How many processors this process may use. */
TL_API int32_t tl_processors();

/** Nanoseconds that one thread takes for a multiplication and an addition in a product of float32 matrices: measured, for some microseconds. */
TL_API double tl_multiply_time();

/** Asks for large pages behind a fresh block of memory, which then costs far fewer page faults to fill. */
TL_API void tl_prefer_large_pages(void* memory, int64_t bytes);

/** A block of memory that begins on a large page; null when there is none. Its content is not defined. */
TL_API void* tl_allocate(int64_t bytes);
/** The block must have been allocated with so many bytes. */
TL_API void tl_release(void* block, int64_t bytes);
