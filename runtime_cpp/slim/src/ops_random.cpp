// Operators that draw random numbers, as many and in the order that PyTorch draws them on the CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include <torch2cpp/slim/apply.h>
#include <torch2cpp/slim/operators.h>
#include <torch2cpp/slim/random.h>
#include <torch2cpp/tensor_ops.h>

namespace torch2cpp::slim::op {
namespace {

// The same elements with the dimensions by falling stride: the order they lie in.
Tensor as_it_lies(const Tensor& self) {
  const Shape strides = impl(self).strides();
  std::vector<int64_t> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  });
  return torch2cpp::permute(self, order);
}

// Every element of `self` as f(generator) gives it, in the order that they lie in.
template <class Out, class F>
void draw(const Tensor& self, F f) {
  const Tensor elements = as_it_lies(self);
  Generator& generator = default_generator();
  const std::lock_guard lock(generator.mutex);
  elementwise<Out, Out, 0>(impl(elements), {}, [&]() { return static_cast<Out>(f(generator)); });
}

bool is_double(const Tensor& t) { return impl(t).dtype == ScalarType::Double; }

void check_floating(const Tensor& self, const char* what) {
  if (!is_floating(impl(self).dtype)) {
    raise_runtime_error(std::string(what) + " expects a floating point tensor, got " +
                        std::string(dtype_name(impl(self).dtype)));
  }
}

// Pairs of eight uniform numbers each become normal ones.
template <class T>
void normal_sixteen(T* data, T mean, T std) {
  for (std::size_t i = 0; i < 8; ++i) {
    const T radius = std::sqrt(-2 * std::log(1 - data[i])), angle = 2 * std::numbers::pi_v<T> * data[i + 8];
    data[i] = radius * std::cos(angle) * std + mean;
    data[i + 8] = radius * std::sin(angle) * std + mean;
  }
}

// Many numbers at once: what is left over behind the last sixteen is covered by sixteen fresh ones.
template <class T>
void normal_many(const Tensor& self, T mean, T std) {
  Generator& generator = default_generator();
  const std::lock_guard lock(generator.mutex);
  const auto next = [&]() -> T {
    if constexpr (std::is_same_v<T, double>) {
      return generator.uniform_double();
    } else {
      return generator.uniform_float();
    }
  };
  const auto count = static_cast<std::size_t>(impl(self).numel());
  std::vector<T> values(count);
  // Narrow dtypes leave out the numbers that the last sixteen replace.
  const bool narrow = impl(self).width() < sizeof(float);
  std::generate_n(values.begin(), narrow ? count / 16 * 16 : count, next);
  for (std::size_t i = 0; i + 16 <= count; i += 16) {
    normal_sixteen(values.data() + i, mean, std);
  }
  if (count % 16 != 0) {
    T* last = values.data() + count - 16;
    std::generate_n(last, 16, next);
    normal_sixteen(last, mean, std);
  }
  store(values.data(), impl(self).data(), impl(self).dtype, 1, static_cast<int64_t>(count));
}

// Whole numbers in [low, high).
Tensor draw_between(const Tensor& self, int64_t low, int64_t high) {
  if (low >= high) {
    raise_runtime_error("random_ expects 'from' to be less than 'to', but got from=" + std::to_string(low) +
                        " >= to=" + std::to_string(high));
  }
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const bool wide = range >= (uint64_t{1} << 28U);
  draw<int64_t>(self, [&](Generator& generator) {
    const uint64_t drawn = wide ? generator.random64() : generator.random();
    return static_cast<int64_t>(drawn % range + static_cast<uint64_t>(low));
  });
  return self;
}

// As eager's messages have it, "%.6g" with a point whatever the locale. (std::to_chars would bring 100 KB of tables.)
std::string text_of(double x) {
  if (!std::isfinite(x) || x == 0) {
    return std::string(std::signbit(x) ? "-" : "") + (std::isnan(x) ? "nan" : x == 0 ? "0" : "inf");
  }
  const double size = std::abs(x);
  int exponent = static_cast<int>(std::floor(std::log10(size)));
  const auto six_digits = [&] { return std::llround(size / std::pow(10.0L, exponent - 5)); };
  if (six_digits() >= 1000000) {
    ++exponent;
  }
  std::string digits = std::to_string(six_digits());
  digits.erase(digits.find_last_not_of('0') + 1);
  const bool scientific = exponent < -4 || exponent > 5;
  const std::size_t whole = scientific || exponent < 0 ? 1 : static_cast<std::size_t>(exponent) + 1;
  if (!scientific && exponent < 0) {
    digits.insert(0, static_cast<std::size_t>(-exponent), '0');
  }
  digits.append(whole - std::min(whole, digits.size()), '0');
  if (digits.size() > whole) {
    digits.insert(whole, ".");
  }
  if (scientific) {
    const std::string power = std::to_string(std::abs(exponent));
    digits += (exponent < 0 ? "e-" : "e+") + std::string(power.size() < 2 ? "0" : "") + power;
  }
  return (x < 0 ? "-" : "") + digits;
}

Tensor like(const Tensor& self, std::optional<ScalarType> dtype) { return empty_like(self, dtype); }
Tensor standard_normal(const Tensor& out) { return normal_in_place(out, 0, 1); }
Tensor standard_uniform(const Tensor& out) { return uniform_in_place(out, 0, 1); }
void check_dropout(double p) {
  if (!(p >= 0 && p <= 1)) {
    raise_runtime_error("dropout probability has to be between 0 and 1, but got " + text_of(p));
  }
}
void check_deviations(const Tensor& std) {
  if (impl(std).numel() != 0 && !torch2cpp::item<bool>(all(ge_Scalar(std, 0)))) {
    raise_runtime_error("normal expects all elements of std >= 0.0");
  }
}

}  // namespace

Tensor normal_in_place(const Tensor& self, double mean, double std) {
  check_floating(self, "normal_");
  if (!(std >= 0)) {
    raise_runtime_error("normal expects std >= 0.0, but found std " + text_of(std));
  }
  if (impl(self).numel() < 16 || !impl(self).is_contiguous()) {
    draw<double>(self, [=](Generator& generator) { return generator.normal() * std + mean; });
  } else if (is_double(self)) {
    normal_many<double>(self, mean, std);
  } else {
    normal_many<float>(self, static_cast<float>(mean), static_cast<float>(std));
  }
  return self;
}
Tensor uniform_in_place(const Tensor& self, double from, double to) {
  check_floating(self, "uniform_");
  if (!(from <= to)) {
    raise_runtime_error("uniform_ expects to return a [from, to) range, but found from=" + text_of(from) +
                        " > to=" + text_of(to));
  }
  if (is_double(self)) {
    draw<double>(self, [=](Generator& generator) { return generator.uniform_double() * (to - from) + from; });
  } else {
    const auto low = static_cast<float>(from), high = static_cast<float>(to);
    draw<float>(self, [=](Generator& generator) { return generator.uniform_float() * (high - low) + low; });
  }
  return self;
}
Tensor exponential_in_place(const Tensor& self, double lambd) {
  check_floating(self, "exponential_");
  if (!(lambd > 0)) {
    raise_runtime_error("exponential_ expects lambda > 0.0, but found lambda=" + text_of(lambd));
  }
  draw<double>(self, [=](Generator& generator) { return -1.0 / lambd * std::log1p(-generator.uniform_double()); });
  return self;
}
Tensor bernoulli_in_place_float(const Tensor& self, double p) {
  if (!(p >= 0 && p <= 1)) {
    raise_runtime_error("bernoulli_ expects p to be in [0, 1], but got p=" + text_of(p));
  }
  draw<double>(self, [=](Generator& generator) { return generator.uniform_double() < p ? 1.0 : 0.0; });
  return self;
}
Tensor bernoulli_in_place_Tensor(const Tensor& self, const Tensor& p) {
  check_floating(p, "bernoulli_: p");
  const Tensor all = torch2cpp::expand(p, impl(self).sizes());
  Generator& generator = default_generator();
  const std::lock_guard lock(generator.mutex);
  const bool precise = is_double(p);
  elementwise<double, double, 1>(impl(self), {&impl(all)}, [&](double each) {
    if (!(each >= 0 && each <= 1)) {
      raise_runtime_error("bernoulli_ expects every p to be in [0, 1], but got p=" + text_of(each));
    }
    return (precise ? generator.uniform_double() : static_cast<double>(generator.uniform_float())) < each ? 1.0 : 0.0;
  });
  return self;
}
Tensor bernoulli(const Tensor& self) { return bernoulli_in_place_Tensor(like(self, std::nullopt), self); }
Tensor bernoulli_p(const Tensor& self, double p) { return bernoulli_in_place_float(like(self, std::nullopt), p); }

Tensor rand(Ints size, std::optional<ScalarType> dtype) { return standard_uniform(empty_memory_format(size, dtype)); }
Tensor randn(Ints size, std::optional<ScalarType> dtype) { return standard_normal(empty_memory_format(size, dtype)); }
Tensor rand_like(const Tensor& self, std::optional<ScalarType> dtype) { return standard_uniform(like(self, dtype)); }
Tensor randn_like(const Tensor& self, std::optional<ScalarType> dtype) { return standard_normal(like(self, dtype)); }
Tensor randint_low(int64_t low, int64_t high, Ints size, std::optional<ScalarType> dtype) {
  return draw_between(empty_memory_format(size, dtype.value_or(ScalarType::Long)), low, high);
}
Tensor randint(int64_t high, Ints size, std::optional<ScalarType> dtype) { return randint_low(0, high, size, dtype); }
Tensor randint_like_low_dtype(const Tensor& self, int64_t low, int64_t high, std::optional<ScalarType> dtype) {
  return draw_between(like(self, dtype), low, high);
}
Tensor randint_like(const Tensor& self, int64_t high, std::optional<ScalarType> dtype) {
  return randint_like_low_dtype(self, 0, high, dtype);
}
Tensor randperm(int64_t n, std::optional<ScalarType> dtype) {
  if (n < 0) {
    raise_runtime_error("Trying to create tensor with negative dimension " + std::to_string(n) + ": [" +
                        std::to_string(n) + "]");
  }
  std::vector<int64_t> places(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = static_cast<int64_t>(i);
  }
  Generator& generator = default_generator();
  const std::lock_guard lock(generator.mutex);
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    std::swap(places[i], places[i + generator.random() % (places.size() - i)]);
  }
  const Tensor out = slim::empty(std::array<int64_t, 1>{n}, dtype.value_or(ScalarType::Long));
  store(places.data(), impl(out).data(), impl(out).dtype, 1, n);
  return out;
}
Tensor normal_float_float(double mean, double std, Ints size, std::optional<ScalarType> dtype) {
  return normal_in_place(empty_memory_format(size, dtype), mean, std);
}
Tensor normal_Tensor_float(const Tensor& mean, double std) {
  return add_in_place_Tensor(normal_in_place(like(mean, std::nullopt), 0, std), mean, 1);
}
Tensor normal_float_Tensor(double mean, const Tensor& std) {
  check_deviations(std);
  return add_Scalar(mul_Tensor(standard_normal(like(std, std::nullopt)), std), mean, 1);
}
Tensor normal_Tensor_Tensor(const Tensor& mean, const Tensor& std) {
  check_deviations(std);
  const Tensor out = slim::empty(broadcast({&impl(mean), &impl(std)}).sizes(), result_type({&impl(mean), &impl(std)}));
  return add_Tensor(mul_Tensor(standard_normal(out), std), mean, 1);
}

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement) {
  check_floating(self, "multinomial");
  const int64_t choices = torch2cpp::size(self, -1);
  if (num_samples <= 0 || (!replacement && num_samples > choices)) {
    raise_runtime_error(num_samples <= 0 ? "cannot sample n_sample <= 0 samples"
                                         : "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  }
  const bool wrong = torch2cpp::item<bool>(any(logical_or(logical_not(isfinite(self)), lt_Scalar(self, 0))));
  const bool nothing = torch2cpp::item<bool>(any(eq_Scalar(sum_dim_IntList(self, Ints({-1}), false, std::nullopt), 0)));
  if (wrong || nothing) {
    raise_runtime_error(wrong ? "probability tensor contains either `inf`, `nan` or element < 0"
                              : "invalid multinomial distribution (sum of probabilities <= 0)");
  }
  if (!replacement || num_samples == 1) {
    // The largest shares over exponential numbers.
    const Tensor shares = div_Tensor(self, exponential_in_place(like(self, std::nullopt), 1));
    return num_samples == 1 ? argmax(shares, -1, true) : std::get<1>(topk(shares, num_samples, -1, true, true));
  }
  const Tensor from = slim::contiguous(self, ScalarType::Double);
  const int64_t rows = impl(self).rank() == 1 ? 1 : torch2cpp::size(self, 0);
  std::vector<int64_t> sizes(impl(self).sizes().begin(), impl(self).sizes().end());
  sizes.back() = num_samples;
  const Tensor out = slim::empty(sizes, ScalarType::Long);
  Generator& generator = default_generator();
  const std::lock_guard lock(generator.mutex);
  std::vector<double> sums(static_cast<std::size_t>(choices));
  for (int64_t row = 0; row < rows; ++row) {
    const double* weights = slim::data<double>(from) + row * choices;
    double sum = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] = sum += weights[i];
    }
    for (double& each : sums) {
      each /= sum;
    }
    sums.back() = 1;
    for (int64_t i = 0; i < num_samples; ++i) {
      const auto found = std::lower_bound(sums.begin(), sums.end(), generator.uniform_double());
      slim::data<int64_t>(out)[row * num_samples + i] = found - sums.begin();
    }
  }
  return out;
}

Tensor dropout(const Tensor& input, double p, bool train) {
  check_dropout(p);
  if (p == 0 || !train || impl(input).numel() == 0) {
    return input;
  }
  if (p == 1) {
    return mul_Scalar(input, 0);
  }
  const Tensor noise = bernoulli_in_place_float(like(input, std::nullopt), 1 - p);
  return mul_Tensor(input, div_in_place_Scalar(noise, 1 - p));
}
Tensor dropout_in_place(const Tensor& self, double p, bool train) {
  const Tensor out = dropout(self, p, train);
  return p == 0 || !train ? self : write_over(self, out);
}
Tensor feature_dropout(const Tensor& input, double p, bool train) {
  check_dropout(p);
  if (p == 0 || !train || impl(input).numel() == 0) {
    return input;
  }
  if (p == 1) {
    return mul_Scalar(input, 0);
  }
  // One draw a channel.
  std::vector<int64_t> sizes(static_cast<std::size_t>(std::max<int64_t>(impl(input).rank(), 2)), 1);
  sizes[0] = torch2cpp::size(input, 0);
  sizes[1] = torch2cpp::size(input, 1);
  const Tensor noise = bernoulli_in_place_float(slim::empty(sizes, impl(input).dtype), 1 - p);
  return mul_Tensor(input, div_in_place_Scalar(noise, 1 - p));
}

}  // namespace torch2cpp::slim::op
