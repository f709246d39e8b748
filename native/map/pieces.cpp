/** Maps that run on pieces of a matrix. */
#include <algorithm>

#include "map.h"

namespace tl {
namespace {

/** Points per box, as for maps that run alone. */
constexpr int64_t kBlock = 1024;
/** Pieces of rows that are shorter than kShort are copied together, so many columns of each: a box for each row would cost more. */
constexpr int64_t kShort = 512, kNarrow = 128;

/** Whether elements of a row lie side by side, and all rows at equal distances. */
bool isMatrix(const View& v) {
  const size_t rank = v.dims.size();
  if (rank < 2 || v.strides[rank - 1] != 1 || v.strides[rank - 2] < v.dims[rank - 1]) return false;
  for (size_t d = 0; d + 2 < rank; d++)
    if (v.strides[d] != v.dims[d + 1] * v.strides[d + 1]) return false;
  return true;
}

}  // namespace

PieceMap::PieceMap(const MapCode& code) : shape_(code.expression.shape) {
  if (!shape_.empty()) columns_ = shape_.back();
  for (const auto* views : {&code.expression.inputs, &code.outputs})
    for (const View& v : *views)
      if (isMatrix(v)) matrices_.push_back(v);
  std::vector<std::vector<int64_t>> strides;
  for (const View& v : code.outputs) strides.push_back(v.strides);
  Layout layout(code.expression, strides);
  if (layout.empty) return;
  // The columns stay a dim of their own, the last one; rows may merge.
  if (columns_ > 1) layout.space.mark[layout.space.rank - 1] = true;
  simplify(layout.space, layout.strides, 0, false);
  whole_ = form(code, layout, std::max<int64_t>(1, kBlock / columns_), std::min(columns_, kBlock));
  part_ = form(code, layout, 1, std::min(columns_, kBlock));
  // Not whole rows: boxes of several of those would count as one stretch of memory, which pieces of rows are not.
  narrow_ = form(code, layout, kBlock / kNarrow, std::clamp<int64_t>(columns_ - 1, 1, kNarrow));
}

PieceMap::Form PieceMap::form(const MapCode& code, const Layout& layout, int64_t rows, int64_t columns) const {
  Layout tiled = layout;
  Space& space = tiled.space;
  std::fill(space.tile, space.tile + space.rank, int64_t{1});
  const int row = columns_ > 1 ? space.rank - 2 : space.rank - 1;
  if (columns_ > 1) space.tile[space.rank - 1] = columns;
  if (row >= 0) space.tile[row] = std::min(rows, space.dims[row]);
  const size_t first = tiled.strides.size() - code.outputs.size();
  std::vector<Body::Output> outputs;
  for (size_t i = 0; i < code.outputs.size(); i++)
    outputs.push_back({Operand(code.outputs[i], tiled.strides[first + i]), code.results[i]});
  auto body = make<Body>(code.expression, tiled, outputs);
  return {space, std::move(body)};
}

int64_t PieceMap::scratchBytes() const {
  if (!whole_.body) return 0;
  return std::max({whole_.body->scratchBytes(), part_.body->scratchBytes(), narrow_.body->scratchBytes()});
}

void PieceMap::run(void* const* table, Range rows, Range columns, char* scratch, int32_t* failure) const {
  const bool isWhole = columns.begin == 0 && columns.end == columns_;
  const Form& form = isWhole ? whole_ : columns.end - columns.begin < kShort ? narrow_ : part_;
  if (!form.body) return;
  const Space& space = form.space;
  const int last = columns_ > 1 ? space.rank - 1 : space.rank;  // the dim of the columns; those before it count rows
  Body::Run run(*form.body, table, scratch, failure);
  Box box = {};
  for (int64_t row = rows.begin; row < rows.end;) {
    int64_t rest = row, height = 1;
    for (int d = last - 1; d >= 0; rest /= space.dims[d], d--) {
      box.start[d] = rest % space.dims[d];
      box.extent[d] = 1;
    }
    if (last > 0) {
      height = std::min({space.tile[last - 1], space.dims[last - 1] - box.start[last - 1], rows.end - row});
      box.extent[last - 1] = height;
    }
    for (int64_t column = columns.begin; column < columns.end;) {
      const int64_t width = last < space.rank ? std::min(space.tile[last], columns.end - column) : 1;
      if (last < space.rank) {
        box.start[last] = column;
        box.extent[last] = width;
      }
      box.points = height * width;
      run.evaluate(box);
      column += width;
    }
    row += height;
  }
}

}  // namespace tl
