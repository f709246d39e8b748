/** The `check` instruction: fails when any element of a bool view is true. */
#include "../core/program.h"

namespace tl {
namespace {

class Check final : public Instruction {
 public:
  explicit Check(const View& input) : input_(input) {
    if (sizeOf(input.dtype) != 1) refuse("a check looks at bools");
  }

  Failure run(void* const* table) override {
    const uint8_t* data = input_.as<uint8_t>(table);
    std::vector<int64_t> at(input_.dims.size(), 0);
    const int64_t n = input_.size();
    int64_t offset = 0;
    for (int64_t i = 0; i < n; i++) {
      if (data[offset]) return {FailureCode::check, i, 1};
      for (size_t d = at.size(); d-- > 0;) {
        offset += input_.strides[d];
        if (++at[d] < input_.dims[d]) break;
        offset -= input_.strides[d] * input_.dims[d];
        at[d] = 0;
      }
    }
    return {};
  }

 private:
  View input_;
};

}  // namespace

InstructionPtr decodeCheck(Reader& in) { return make<Check>(in.view()); }

}  // namespace tl
