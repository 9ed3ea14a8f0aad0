// einsum: operands brought to one order of dimensions, then contracted from left to right as matrix products.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <torch2cpp/slim/elementwise.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// A dimension's letter; dimensions of an ellipsis are counted from its end, as numbers below zero.
using Labels = std::vector<int>;

struct Equation {
  std::vector<std::string> operands;
  std::optional<std::string> result;
};

Equation parse(std::string_view text) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain), [](char c) { return c != ' '; });
  Equation out;
  const std::size_t arrow = plain.find("->");
  if (arrow != std::string::npos) {
    out.result = plain.substr(arrow + 2);
    plain.resize(arrow);
  }
  std::size_t start = 0;
  for (std::size_t comma = plain.find(','); comma != std::string::npos; comma = plain.find(',', start)) {
    out.operands.push_back(plain.substr(start, comma - start));
    start = comma + 1;
  }
  out.operands.push_back(plain.substr(start));
  return out;
}

// The labels of one operand or of the result, where an ellipsis stands for so many dimensions.
Labels labels(const std::string& text, int64_t ellipsis) {
  Labels out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 3, "...") == 0) {
      for (int64_t k = ellipsis; k > 0; --k) {
        out.push_back(static_cast<int>(-k));
      }
      i += 2;
    } else if ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z')) {
      out.push_back(text[i]);
    } else {
      raise_runtime_error("einsum(): invalid subscript given, subscripts must be in [a-zA-Z]");
    }
  }
  return out;
}

int64_t letters(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return c != '.'; });
}

// One dimension a label: those that come twice give their diagonal.
Tensor without_repeats(Tensor t, Labels& at) {
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto again = std::find(at.begin() + static_cast<std::ptrdiff_t>(i) + 1, at.end(), at[i]);
    if (again == at.end()) {
      continue;
    }
    const auto j = again - at.begin();
    if (torch2cpp::size(t, static_cast<int64_t>(i)) != torch2cpp::size(t, j)) {
      raise_runtime_error("einsum(): subscript is repeated for an operand but the sizes don't match");
    }
    t = diagonal(t, 0, static_cast<int64_t>(i), j);
    const int label = at[i];
    at.erase(again);
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(i));
    at.push_back(label);
    --i;
  }
  return t;
}

// The tensor with its dimensions in the order of `all`, of size 1 where it has none.
Tensor in_order(const Tensor& t, const Labels& at, const Labels& all) {
  std::vector<int64_t> order, sizes;
  for (const int label : all) {
    const auto found = std::find(at.begin(), at.end(), label);
    if (found != at.end()) {
      order.push_back(found - at.begin());
    }
  }
  const Tensor turned = torch2cpp::permute(t, order);
  std::size_t next = 0;
  for (const int label : all) {
    const bool has = std::find(at.begin(), at.end(), label) != at.end();
    sizes.push_back(has ? impl(turned).sizes()[next++] : 1);
  }
  return reshape(turned, sizes);
}

int64_t product(const std::vector<int64_t>& sizes) { return element_count(sizes); }

// a times b, summed over the dimensions that `sums` says, which keep size 1.
Tensor contracted(Tensor a, Tensor b, const std::vector<bool>& sums) {
  const std::size_t rank = sums.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const int64_t dim[] = {static_cast<int64_t>(d)};
    const bool in_a = impl(a).sizes()[d] != 1, in_b = impl(b).sizes()[d] != 1;
    if (sums[d] && in_a != in_b) {
      Tensor& one = in_a ? a : b;
      one = sum_dim_IntList(one, Ints(std::span<const int64_t>(dim)), true, std::nullopt);
    }
  }
  // Positions of the dimensions of both, of the left one, of the right one, and of those summed.
  std::vector<int64_t> both, left, right, summed;
  for (std::size_t d = 0; d < rank; ++d) {
    const bool in_a = impl(a).sizes()[d] != 1, in_b = impl(b).sizes()[d] != 1;
    auto& kind = sums[d] ? summed : in_a && in_b ? both : in_b ? right : left;
    kind.push_back(static_cast<int64_t>(d));
  }
  const auto sizes_of = [](const Tensor& t, const std::vector<int64_t>& dims) {
    std::vector<int64_t> out;
    for (const int64_t d : dims) {
      out.push_back(impl(t).sizes()[static_cast<std::size_t>(d)]);
    }
    return out;
  };
  const auto joined = [](std::initializer_list<const std::vector<int64_t>*> parts) {
    std::vector<int64_t> out;
    for (const auto* part : parts) {
      out.insert(out.end(), part->begin(), part->end());
    }
    return out;
  };
  const std::vector<int64_t> shared = sizes_of(a, both), rows = sizes_of(a, left), columns = sizes_of(b, right),
                             depth = sizes_of(a, summed);
  const std::vector<int64_t> left_flat{product(shared), product(rows), product(depth)};
  const std::vector<int64_t> right_flat{product(shared), product(depth), product(columns)};
  const Tensor x = reshape(torch2cpp::permute(a, joined({&both, &left, &summed, &right})), left_flat);
  const Tensor y = reshape(torch2cpp::permute(b, joined({&both, &summed, &right, &left})), right_flat);
  const std::vector<int64_t> ones(summed.size(), 1);
  const std::vector<int64_t> made = joined({&both, &left, &right, &summed});
  std::vector<int64_t> back(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    back[static_cast<std::size_t>(made[i])] = static_cast<int64_t>(i);
  }
  return torch2cpp::permute(reshape(bmm(x, y), joined({&shared, &rows, &columns, &ones})), back);
}

}  // namespace

Tensor einsum(std::string_view equation, const Tensors& tensors) {
  const Equation parsed = parse(equation);
  if (parsed.operands.size() != tensors.size()) {
    raise_runtime_error("einsum(): more operands were provided than specified in the equation, or fewer");
  }
  int64_t ellipsis = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool open = parsed.operands[i].find("...") != std::string::npos;
    const int64_t extra = impl(tensors[i]).rank() - letters(parsed.operands[i]);
    if (extra < 0 || (extra > 0 && !open)) {
      raise_runtime_error(
          "einsum(): the number of subscripts in the equation does not match the number of dimensions (" +
          std::to_string(impl(tensors[i]).rank()) + ") for operand " + std::to_string(i));
    }
    ellipsis = std::max(ellipsis, extra);
  }
  std::map<int, int64_t> times;
  std::vector<Labels> at;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    at.push_back(labels(parsed.operands[i], impl(tensors[i]).rank() - letters(parsed.operands[i])));
    for (const int label : at.back()) {
      ++times[label];
    }
  }
  Labels all;
  if (parsed.result) {
    all = labels(*parsed.result, ellipsis);
  } else {
    // The ellipsis, then what comes once, in the order of the letters.
    for (const auto& [label, count] : times) {
      if (label < 0 || count == 1) {
        all.push_back(label);
      }
    }
  }
  const std::size_t kept = all.size();
  for (const auto& [label, count] : times) {
    if (std::find(all.begin(), all.end(), label) == all.end()) {
      all.push_back(label);
    }
  }
  Tensors turned;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor plain = without_repeats(tensors[i], at[i]);
    turned.push_back(in_order(plain, at[i], all));
  }
  Tensor out = turned[0];
  std::vector<bool> sums(all.size(), false);
  for (std::size_t i = 1; i < turned.size(); ++i) {
    // A dimension goes as soon as no later operand has it.
    for (std::size_t d = kept; d < all.size(); ++d) {
      sums[d] = std::none_of(at.begin() + static_cast<std::ptrdiff_t>(i) + 1, at.end(), [&](const Labels& later) {
        return std::find(later.begin(), later.end(), all[d]) != later.end();
      });
    }
    out = contracted(out, turned[i], sums);
  }
  std::vector<int64_t> left;
  for (std::size_t d = kept; d < all.size(); ++d) {
    if (impl(out).sizes()[d] != 1) {
      left.push_back(static_cast<int64_t>(d));
    }
  }
  if (!left.empty()) {
    out = sum_dim_IntList(out, Ints(left), true, std::nullopt);
  }
  const Shape sizes = impl(out).sizes();
  return reshape(out, std::vector<int64_t>(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(kept)));
}

}  // namespace torch2cpp::slim::op
