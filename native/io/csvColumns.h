/** Fields of comma-separated values as the elements of columns, by the rules of src/io/csv.ts. */
#pragma once
#include <cstring>

#include "blocks.h"
#include "numbers.h"

namespace tl {

/** A column as TypeScript writes it. Addresses have at most 48 bits. */
struct CsvColumn {
  double type;
  /** Where numbers go; 0 for a block of their own. */
  double target;
  /** Where in `texts` the value of an empty field stands; no such place, -1, where a field must not be empty. */
  double fallback, fallbackEnd;
};

/** What TypeScript says about records. */
struct CsvOptions {
  double delimiter, useQuotes;
  /** Where in `texts` the text stands that means that there is no value. */
  double notAvailable, notAvailableEnd;
  /** How many columns are wanted, and how many are not; where none are wanted, all are but those. */
  double chosen, excluded;
  /** The wanted ones, rising, and behind them those that are not. */
  double columns[];
};

constexpr char csvQuote = '"';
inline bool isLineEnd(char c) { return c == '\n' || c == '\r'; }

/**
 * Takes the fields of one record after the other. Each column has two blocks: of strings their bytes, and where each string ends; of
 * numbers that have no other place the numbers.
 */
class CsvColumns {
 public:
  CsvColumns(const CsvColumn* columns, size_t count, const CsvOptions& options, const char* texts, std::vector<Block>& results)
      : count(count),
        columns(columns),
        texts(texts),
        notAvailable{texts + size_t(options.notAvailable), texts + size_t(options.notAvailableEnd)},
        results(results) {}

  /** How many columns there are. */
  const size_t count;

  /** A field of record `i` as the next element of a column; false where it is not one, or a number that few people write. */
  bool take(size_t column, Text field, size_t i);

  /** A quoted field without its doubled quotes, until the next such field. */
  Text unquoted(Text field);

  /** Forgets all records from this one on. */
  void cut(size_t records);

 private:
  const CsvColumn* columns;
  const char* texts;
  const Text notAvailable;
  std::vector<Block>& results;
  Block plain;

  template <typename T>
  bool put(size_t column, size_t i, T value);
  bool addString(size_t column, Text text);
};

}  // namespace tl
