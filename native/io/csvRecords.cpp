/**
 * @file Records of comma-separated values in the bytes of a file, by the rules of src/io/csvRecords.ts.
 *
 * A record with a mistake, or with a number that few people write, is where it stops: TypeScript reads that one, or says what is wrong
 * with it.
 */
#include "../tensorloom.h"
#include "csvColumns.h"

namespace {

using tl::Block;
using tl::csvQuote;
using tl::isLineEnd;
using tl::Text;

/** How reading a record ended: well, with the bytes before the record did, or with something that is left to TypeScript. */
enum Outcome : int32_t { whole = 0, partial = 1, odd = 2 };

class Reader {
 public:
  Reader(tl::CsvColumns& columns, const tl::CsvOptions& options, Text bytes, bool isLast, bool isStrict)
      : columns(columns),
        delimiter(char(options.delimiter)),
        useQuotes(options.useQuotes != 0),
        chosen(size_t(options.chosen)),
        excluded(size_t(options.excluded)),
        listed(options.columns),
        bytes(bytes),
        at(bytes.at),
        isLast(isLast),
        isStrict(isStrict) {}

  /** Reads records until the bytes, or what it can do, end; `ends` get where each of them does. */
  Outcome read(Block& ends) {
    for (size_t i = 0; at < bytes.end; i++) {
      const Outcome outcome = readRecord(i);
      if (outcome != whole) {
        columns.cut(i);
        return outcome;
      }
      ends.push(int32_t(at - bytes.at));
    }
    return whole;
  }

 private:
  tl::CsvColumns& columns;
  const char delimiter;
  const bool useQuotes;
  const size_t chosen, excluded;
  const double* listed;
  const Text bytes;
  const char* at;
  /** Whether the file ends with these bytes. */
  const bool isLast;
  /** Whether empty lines, and lines that end with \r alone, are odd. */
  const bool isStrict;
  bool isAtEnd = false;

  bool isWanted(size_t taken, size_t column) const {
    if (chosen > 0) return taken < chosen && listed[taken] == double(column);
    for (size_t k = 0; k < excluded; k++)
      if (listed[k] == double(column)) return false;
    return true;
  }

  Outcome readRecord(size_t i) {
    size_t taken = 0;
    isAtEnd = false;
    for (size_t column = 0; !isAtEnd; column++) {
      Text field;
      const Outcome outcome = at == bytes.end ? nothing(field) : useQuotes && *at == csvQuote ? quoted(field) : unquoted(field);
      if (outcome != whole) return outcome;
      if (isStrict && isAtEnd && column == 0 && field.size() == 0) return odd;
      if (isWanted(taken, column)) {
        if (taken == columns.count || !columns.take(taken, field, i)) return odd;
        taken++;
      }
    }
    return taken == columns.count ? whole : odd;
  }

  /** The empty field behind a delimiter with which the file ends. */
  Outcome nothing(Text& field) {
    field = {at, at};
    isAtEnd = true;
    return isLast ? whole : partial;
  }

  Outcome unquoted(Text& field) {
    const char* start = at;
    for (; at < bytes.end; at++) {
      const char c = *at;
      if (c == delimiter) {
        field = {start, at++};
        return whole;
      }
      if (isLineEnd(c)) {
        field = {start, at};
        return endLine();
      }
      if (useQuotes && c == csvQuote) return odd;
    }
    field = {start, at};
    isAtEnd = true;
    return isLast ? whole : partial;
  }

  /** A field from its opening quote on. */
  Outcome quoted(Text& field) {
    const char* start = ++at;
    bool hasQuotes = false;
    for (;;) {
      const auto* found = static_cast<const char*>(memchr(at, csvQuote, size_t(bytes.end - at)));
      if (found == nullptr) return isLast ? odd : partial;
      at = found + 1;
      field = {start, found};
      if (at == bytes.end) {
        if (!isLast) return partial;
        isAtEnd = true;
        break;
      }
      if (*at == delimiter) {
        at++;
        break;
      }
      if (isLineEnd(*at)) {
        if (const Outcome outcome = endLine(); outcome != whole) return outcome;
        break;
      }
      if (*at++ != csvQuote) return odd;
      hasQuotes = true;
    }
    if (hasQuotes) field = columns.unquoted(field);
    return whole;
  }

  /** Goes behind a line end. */
  Outcome endLine() {
    isAtEnd = true;
    if (*at++ == '\n') return whole;
    if (at == bytes.end && !isLast) return partial;
    if (at < bytes.end && *at == '\n') at++;
    else if (isStrict) return odd;
    return whole;
  }
};

}  // namespace

/**
 * Reads records from `from` on. Gives two blocks for each column, with the elements of all records that it could read; where each
 * record ends in the data, counted from `from`; and how it ended. Or 0.
 */
TL_API int64_t tl_csv_records(int64_t columns, int64_t count, int64_t options, int64_t texts, int64_t data, int64_t from, int64_t to, int64_t isLast, int64_t isStrict) {
  return tl::blocksFrom(size_t(2 * count + 2), [&](std::vector<Block>& results) {
    const auto& all = *reinterpret_cast<const tl::CsvOptions*>(options);
    tl::CsvColumns taken(reinterpret_cast<const tl::CsvColumn*>(columns), size_t(count), all, reinterpret_cast<const char*>(texts), results);
    const char* bytes = reinterpret_cast<const char*>(data);
    Reader reader(taken, all, {bytes + from, bytes + to}, isLast != 0, isStrict != 0);
    Block& ends = results[size_t(2 * count)];
    results[size_t(2 * count) + 1].push(reader.read(ends));
    return true;
  });
}
