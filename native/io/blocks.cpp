/** @file How TypeScript gets at what parsers found. */
#include "blocks.h"

#include "../tensorloom.h"

namespace {
const tl::Block& blockOf(int64_t blocks, int64_t which) { return reinterpret_cast<const tl::Blocks*>(blocks)->list[size_t(which)]; }
}  // namespace

/** How many bytes a block has. */
TL_API int64_t tl_blocks_size(int64_t blocks, int64_t which) { return int64_t(blockOf(blocks, which).size()); }

/** Copies a block. */
TL_API void tl_blocks_copy(int64_t blocks, int64_t which, int64_t to) {
  const tl::Block& block = blockOf(blocks, which);
  if (block.size() > 0) memcpy(reinterpret_cast<void*>(to), block.data(), block.size());
}

TL_API void tl_blocks_free(int64_t blocks) { delete reinterpret_cast<tl::Blocks*>(blocks); }
