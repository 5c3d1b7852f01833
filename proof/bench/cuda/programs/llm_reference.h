// The layer's weights, and its output in double precision, written from the formulas.
#pragma once
#include <cmath>

#include "twin.h"

namespace llm {
constexpr size_t D = 64;  // features of a token
constexpr size_t HIDDEN = 4 * D;
constexpr float SCALE = 0.125f;

enum class Weight { Query, Key, Value, Output, BiasOutput, Up, BiasUp, Down, BiasDown };
constexpr Weight ALL_WEIGHTS[] = {Weight::Query, Weight::Key,    Weight::Value, Weight::Output,  Weight::BiasOutput,
                                  Weight::Up,    Weight::BiasUp, Weight::Down,  Weight::BiasDown};

// Rows and columns.
inline std::pair<size_t, size_t> shape(Weight weight) {
    switch (weight) {
        case Weight::BiasOutput:
        case Weight::BiasDown: return {1, D};
        case Weight::Up: return {D, HIDDEN};
        case Weight::BiasUp: return {1, HIDDEN};
        case Weight::Down: return {HIDDEN, D};
        default: return {D, D};
    }
}

inline std::vector<float> elements(Weight weight) {
    const float size = weight == Weight::Query || weight == Weight::Key ? 0.5f
                       : weight == Weight::Down                        ? 0.125f
                                                                        : 0.25f;
    const auto [rows, columns] = shape(weight);
    const Seed seed(500 + static_cast<uint64_t>(weight));
    std::vector<float> values(rows * columns);
    for (size_t i = 0; i < values.size(); ++i) values[i] = size * seed.f32(i);
    return values;
}

using Numbers = std::vector<double>;

inline Numbers product(const Numbers& a, Weight weight) {
    const auto [k, n] = shape(weight);
    const std::vector<float> w = elements(weight);
    Numbers c(a.size() / k * n);
    for (size_t row = 0; row < a.size() / k; ++row) {
        for (size_t i = 0; i < k; ++i) {
            for (size_t j = 0; j < n; ++j) c[row * n + j] += a[row * k + i] * w[i * n + j];
        }
    }
    return c;
}

// Each row plus the bias, plus the residual.
inline Numbers plus(Numbers rows, Weight bias, const Numbers& residual) {
    const std::vector<float> b = elements(bias);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] += b[i % D] + residual[i];
    return rows;
}

inline Numbers attended(const Numbers& q, const Numbers& k, const Numbers& v) {
    Numbers seen(q.size());
    for (size_t row = 0; row < q.size() / D; ++row) {
        Numbers scores(row + 1);
        for (size_t token = 0; token <= row; ++token) {
            for (size_t i = 0; i < D; ++i) scores[token] += q[row * D + i] * k[token * D + i];
            scores[token] /= std::sqrt(static_cast<double>(D));
        }
        const double max = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double& score : scores) sum += score = std::exp(score - max);
        for (size_t token = 0; token <= row; ++token) {
            for (size_t i = 0; i < D; ++i) seen[row * D + i] += scores[token] / sum * v[token * D + i];
        }
    }
    return seen;
}

inline Numbers reference(const Numbers& x) {
    const Numbers q = product(x, Weight::Query), k = product(x, Weight::Key), v = product(x, Weight::Value);
    const Numbers after = plus(product(attended(q, k, v), Weight::Output), Weight::BiasOutput, x);
    Numbers hidden = product(after, Weight::Up);
    const std::vector<float> bias = elements(Weight::BiasUp);
    for (size_t i = 0; i < hidden.size(); ++i) {
        const double y = hidden[i] + bias[i % HIDDEN];
        hidden[i] = 0.5 * y * (1 + std::tanh(std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
    }
    return plus(product(hidden, Weight::Down), Weight::BiasDown, after);
}
}  // namespace llm
