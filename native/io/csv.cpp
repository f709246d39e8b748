/**
 * @file Records of comma-separated values into columns, by the rules of src/io/csv.ts.
 *
 * For a record with a mistake, and for numbers that few people write, the answer is that it cannot be done; TypeScript reads the
 * records again then, or says what is wrong with them.
 */
#include <limits>

#include "../tensorloom.h"
#include "blocks.h"
#include "numbers.h"

namespace {

using tl::Block;
using tl::Text;

enum ColumnType : int { strings = 0, float32 = 1, float64 = 2, int32 = 3, int64 = 4 };

/** A column as TypeScript writes it. Addresses have at most 48 bits. */
struct Column {
  double type;
  /** Where numbers go. */
  double target;
  /** Where in `texts` the value of an empty field stands; no such place, -1, where a field must not be empty. */
  double fallback, fallbackEnd;
};

struct Options {
  double delimiter, useQuotes;
  /** Where in `texts` the text stands that means that there is no value. */
  double notAvailable, notAvailableEnd;
  double chosen;
  /** The columns that are wanted, `chosen` of them; all where that is 0. */
  double columns[];
};

constexpr char quote = '"';
bool isLineEnd(char c) { return c == '\n' || c == '\r'; }
bool isBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/** Puts a value in its place. */
template <typename T>
bool put(double target, size_t record, T value) {
  reinterpret_cast<T*>(int64_t(target))[record] = value;
  return true;
}

bool isWord(Text text, const char* word) {
  for (; text.at < text.end && *word != 0; text.at++, word++)
    if ((*text.at | 32) != *word) return false;
  return text.at == text.end && *word == 0;
}

/** As C's strtod, but for hexadecimal numbers. */
bool readNumber(Text text, double& value) {
  if (tl::readDecimal(text, value)) return true;
  const bool isNegative = text.at < text.end && *text.at == '-';
  if (isNegative || (text.at < text.end && *text.at == '+')) text.at++;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (isWord(text, "nan")) value = std::numeric_limits<double>::quiet_NaN();
  else if (isWord(text, "inf") || isWord(text, "infinity")) value = isNegative ? -infinity : infinity;
  else return false;
  return true;
}

class Parser {
 public:
  /** The columns of strings go to `results`: the bytes, and where each string ends. */
  Parser(const Column* columns, size_t count, const Options& options, const char* texts, std::vector<Block>& results)
      : columns(columns),
        count(count),
        texts(texts),
        delimiter(char(options.delimiter)),
        useQuotes(options.useQuotes != 0),
        notAvailable{texts + size_t(options.notAvailable), texts + size_t(options.notAvailableEnd)},
        chosen(size_t(options.chosen)),
        wanted(options.columns),
        results(results) {}

  bool parse(const char* data, const int32_t* offsets, size_t records) {
    for (size_t i = 0; i < records; i++)
      if (!readRecord({data + offsets[i], data + offsets[i + 1]}, i)) return false;
    return true;
  }

 private:
  const Column* columns;
  const size_t count;
  const char* texts;
  const char delimiter;
  const bool useQuotes;
  const Text notAvailable;
  const size_t chosen;
  const double* wanted;
  std::vector<Block>& results;
  /** A field without its doubled quotes. */
  Block plain;

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
      if (!(useQuotes && *at == quote ? quoted(record, at, field) : unquoted(record, at, field))) return false;
      if (!takes) continue;
      if (taken == count || !take(taken++, field, i)) return false;
      if (taken == chosen) return true;
    }
    // A delimiter at the end is followed by one more, empty field.
    if (record.at < record.end && record.end[-1] == delimiter && isWanted(taken, column)) {
      if (taken == count || !take(taken++, {record.end, record.end}, i)) return false;
    }
    return taken == count;
  }

  bool unquoted(Text record, const char*& at, Text& field) const {
    const char* start = at;
    for (; at < record.end && *at != delimiter; at++)
      if ((useQuotes && *at == quote) || isLineEnd(*at)) return false;
    field = {start, at};
    at++;
    return true;
  }

  /** A field from its opening quote on. */
  bool quoted(Text record, const char*& at, Text& field) {
    const char *start = ++at, *last = record.end - 1;
    bool hasQuotes = false;
    while (at < last && (*at != quote || at[1] != delimiter)) {
      if (*at != quote) {
        at++;
        continue;
      }
      if (at[1] != quote) return false;
      hasQuotes = true;
      at += 2;
    }
    if (at > last || *at != quote || (at != last && at[1] != delimiter)) return false;
    field = {start, at};
    if (hasQuotes) {
      plain.clear();
      for (const char* c = start; c < at; c++) {
        plain.push(*c);
        if (*c == quote) c++;
      }
      const auto* bytes = reinterpret_cast<const char*>(plain.data());
      field = {bytes, bytes + plain.size()};
    }
    at += 2;
    return true;
  }

  bool take(size_t c, Text field, size_t i) {
    const Column& column = columns[c];
    const int type = int(column.type);
    const bool isMissing = field.size() == 0 || (field.size() == notAvailable.size() && memcmp(field.at, notAvailable.at, field.size()) == 0);
    if (isMissing) {
      if (column.fallback < 0) return false;
      const Text fallback{texts + size_t(column.fallback), texts + size_t(column.fallbackEnd)};
      if (type == strings) return addString(c, fallback);
      memcpy(reinterpret_cast<char*>(int64_t(column.target)) + i * fallback.size(), fallback.at, fallback.size());
      return true;
    }
    if (type == strings) return addString(c, field);
    while (field.at < field.end && isBlank(*field.at)) field.at++;
    while (field.at < field.end && isBlank(field.end[-1])) field.end--;
    if (type == int32 || type == int64) {
      int64_t value;
      if (!tl::readInteger(field, value)) return false;
      if (type == int64) return put(column.target, i, value);
      return value == int32_t(value) && put(column.target, i, int32_t(value));
    }
    double value;
    if (!readNumber(field, value)) return false;
    return type == float64 ? put(column.target, i, value) : put(column.target, i, float(value));
  }

  bool addString(size_t c, Text text) {
    Block& bytes = results[2 * c];
    bytes.append(text.at, text.size());
    results[2 * c + 1].push(int32_t(bytes.size()));
    return bytes.size() < size_t(1) << 31;
  }
};

}  // namespace

/**
 * Cuts records, which lie one behind the other in `data`, into fields. Numbers go to the arrays of their columns. Gives two blocks
 * for each column, of strings their bytes and ends, or 0.
 */
TL_API int64_t tl_csv_parse(int64_t columns, int64_t count, int64_t options, int64_t texts, int64_t data, int64_t offsets, int64_t records) {
  return tl::blocksFrom(size_t(2 * count), [&](std::vector<Block>& results) {
    Parser parser(reinterpret_cast<const Column*>(columns), size_t(count), *reinterpret_cast<const Options*>(options), reinterpret_cast<const char*>(texts), results);
    return parser.parse(reinterpret_cast<const char*>(data), reinterpret_cast<const int32_t*>(offsets), size_t(records));
  });
}
