/**
 * @file Records of comma-separated values into columns, by the rules of src/io/csv.ts.
 *
 * For a record with a mistake, and for numbers that few people write, the answer is that it cannot be done; TypeScript reads the
 * records again then, or says what is wrong with them.
 */
#include "../tensorloom.h"
#include "csvColumns.h"

namespace {

using tl::Block;
using tl::CsvColumn;
using tl::csvQuote;
using tl::isLineEnd;
using tl::Text;

class Parser {
 public:
  Parser(const CsvColumn* columns, size_t count, const tl::CsvOptions& options, const char* texts, std::vector<Block>& results)
      : columns(columns, count, options, texts, results),
        delimiter(char(options.delimiter)),
        useQuotes(options.useQuotes != 0),
        chosen(size_t(options.chosen)),
        wanted(options.columns) {}

  bool parse(const char* data, const int32_t* offsets, size_t records) {
    for (size_t i = 0; i < records; i++)
      if (!readRecord({data + offsets[i], data + offsets[i + 1]}, i)) return false;
    return true;
  }

 private:
  tl::CsvColumns columns;
  const char delimiter;
  const bool useQuotes;
  const size_t chosen;
  const double* wanted;

  bool isWanted(size_t taken, size_t column) const { return chosen == 0 || (taken < chosen && wanted[taken] == double(column)); }

  bool readRecord(Text record, size_t i) {
    size_t taken = 0, column = 0;
    const char* at = record.at;
    while (at < record.end) {
      if (isLineEnd(*at)) {
        at++;
        continue;
      }
      const bool takes = isWanted(taken, column++);
      Text field;
      if (!(useQuotes && *at == csvQuote ? quoted(record, at, field) : unquoted(record, at, field))) return false;
      if (!takes) continue;
      if (taken == columns.count || !columns.take(taken++, field, i)) return false;
      if (taken == chosen) return true;
    }
    // A delimiter at the end is followed by one more, empty field.
    if (record.at < record.end && record.end[-1] == delimiter && isWanted(taken, column)) {
      if (taken == columns.count || !columns.take(taken++, {record.end, record.end}, i)) return false;
    }
    return taken == columns.count;
  }

  bool unquoted(Text record, const char*& at, Text& field) const {
    const char* start = at;
    for (; at < record.end && *at != delimiter; at++)
      if ((useQuotes && *at == csvQuote) || isLineEnd(*at)) return false;
    field = {start, at};
    at++;
    return true;
  }

  /** A field from its opening quote on. */
  bool quoted(Text record, const char*& at, Text& field) {
    const char *start = ++at, *last = record.end - 1;
    bool hasQuotes = false;
    while (at < last && (*at != csvQuote || at[1] != delimiter)) {
      if (*at != csvQuote) {
        at++;
        continue;
      }
      if (at[1] != csvQuote) return false;
      hasQuotes = true;
      at += 2;
    }
    if (at > last || *at != csvQuote || (at != last && at[1] != delimiter)) return false;
    field = {start, at};
    if (hasQuotes) field = columns.unquoted(field);
    at += 2;
    return true;
  }
};

}  // namespace

/**
 * Cuts records, which lie one behind the other in `data`, into fields. Numbers go to the arrays of their columns. Gives two blocks
 * for each column, of strings their bytes and ends, or 0.
 */
TL_API int64_t tl_csv_parse(int64_t columns, int64_t count, int64_t options, int64_t texts, int64_t data, int64_t offsets, int64_t records) {
  return tl::blocksFrom(size_t(2 * count), [&](std::vector<Block>& results) {
    Parser parser(reinterpret_cast<const CsvColumn*>(columns), size_t(count), *reinterpret_cast<const tl::CsvOptions*>(options), reinterpret_cast<const char*>(texts), results);
    return parser.parse(reinterpret_cast<const char*>(data), reinterpret_cast<const int32_t*>(offsets), size_t(records));
  });
}
