/** @file Fields of comma-separated values as elements of columns. */
#include "csvColumns.h"

#include <limits>

namespace tl {

namespace {

enum ColumnType : int { strings = 0, float32 = 1, float64 = 2, int32 = 3, int64 = 4 };
constexpr size_t sizes[] = {sizeof(int32_t), sizeof(float), sizeof(double), sizeof(int32_t), sizeof(int64_t)};

bool isWord(Text text, const char* word) {
  for (; text.at < text.end && *word != 0; text.at++, word++)
    if ((*text.at | 32) != *word) return false;
  return text.at == text.end && *word == 0;
}

/** As C's strtod, but for hexadecimal numbers. */
bool readNumber(Text text, double& value) {
  if (readDecimal(text, value)) return true;
  const bool isNegative = text.at < text.end && *text.at == '-';
  if (isNegative || (text.at < text.end && *text.at == '+')) text.at++;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (isWord(text, "nan")) value = std::numeric_limits<double>::quiet_NaN();
  else if (isWord(text, "inf") || isWord(text, "infinity")) value = isNegative ? -infinity : infinity;
  else return false;
  return true;
}

}  // namespace

bool CsvColumns::take(size_t c, Text field, size_t i) {
  const CsvColumn& column = columns[c];
  const int type = int(column.type);
  const bool isMissing = field.size() == 0 || (field.size() == notAvailable.size() && memcmp(field.at, notAvailable.at, field.size()) == 0);
  if (isMissing) {
    if (column.fallback < 0) return false;
    const Text fallback{texts + size_t(column.fallback), texts + size_t(column.fallbackEnd)};
    if (type == strings) return addString(c, fallback);
    if (column.target == 0) results[2 * c].append(fallback.at, fallback.size());
    else memcpy(reinterpret_cast<char*>(int64_t(column.target)) + i * fallback.size(), fallback.at, fallback.size());
    return true;
  }
  if (type == strings) return addString(c, field);
  field = withoutBlanks(field);
  if (type == int32 || type == int64) {
    int64_t value;
    if (!readInteger(field, value)) return false;
    if (type == int64) return put(c, i, value);
    return value == int32_t(value) && put(c, i, int32_t(value));
  }
  double value;
  if (!readNumber(field, value)) return false;
  return type == float64 ? put(c, i, value) : put(c, i, float(value));
}

template <typename T>
bool CsvColumns::put(size_t c, size_t i, T value) {
  if (columns[c].target == 0) results[2 * c].push(value);
  else reinterpret_cast<T*>(int64_t(columns[c].target))[i] = value;
  return true;
}

bool CsvColumns::addString(size_t c, Text text) {
  Block& bytes = results[2 * c];
  bytes.append(text.at, text.size());
  results[2 * c + 1].push(int32_t(bytes.size()));
  return bytes.size() < size_t(1) << 31;
}

Text CsvColumns::unquoted(Text field) {
  plain.clear();
  for (const char* c = field.at; c < field.end; c++) {
    plain.push(*c);
    if (*c == csvQuote) c++;
  }
  const auto* bytes = reinterpret_cast<const char*>(plain.data());
  return {bytes, bytes + plain.size()};
}

void CsvColumns::cut(size_t records) {
  for (size_t c = 0; c < count; c++) {
    const int type = int(columns[c].type);
    Block& elements = results[2 * c + (type == strings ? 1 : 0)];
    if (elements.size() <= records * sizes[type]) continue;
    elements.cut(records * sizes[type]);
    if (type != strings) continue;
    int32_t end = 0;
    if (records > 0) memcpy(&end, elements.data() + (records - 1) * sizeof end, sizeof end);
    results[2 * c].cut(size_t(end));
  }
}

}  // namespace tl
