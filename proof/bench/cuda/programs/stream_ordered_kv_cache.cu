// The parts append and prefetch of the example stream_ordered_kv_cache, in C++.
#include "kv_model.h"
#include "measure.h"

namespace {
using namespace kv;

// Decode steps: a prompt in every layer's cache, and then token after token.
class Decode {
public:
    static constexpr size_t STEPS = 32;
    static constexpr size_t UPDATES = STEPS * LAYERS;

    Decode(const Program& program, const Size& size, const Stream& append, const Stream& attention)
        : kernels_(program), prompt_(size.tokens), page_tokens_(size.page_tokens), append_(append),
          attention_(attention) {
        for (size_t layer = 0; layer < LAYERS; ++layer) {
            std::vector<CUdeviceptr> pages;
            for (size_t token = 0; token < tokens(); token += page_tokens_) {
                CUdeviceptr page;
                CU(cuMemAllocAsync(&page, page_floats(page_tokens_) * sizeof(float), append_.raw));
                pages.push_back(page);
            }
            pages_.push_back(pages);
            to_write_.push_back(uploaded_table(pages));
            to_read_.push_back(uploaded_table(pages));
            CUevent event;
            CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
            written_.push_back(event);
        }
        append_.synchronize();
        const size_t prompt = prompt_ * WIDTH;
        prompt_keys_ = uploaded(LAYERS * prompt, [=](size_t i) { return key(i / prompt, i % prompt); });
        prompt_values_ = uploaded(LAYERS * prompt, [=](size_t i) { return value(i / prompt, i % prompt); });
        const auto of_steps = [=](auto number) {
            return uploaded(UPDATES * WIDTH, [=](size_t i) {
                const size_t update = i / WIDTH;
                return number(update % LAYERS, prompt + update / LAYERS * WIDTH + i % WIDTH);
            });
        };
        keys_ = of_steps(key);
        values_ = of_steps(value);
        queries_ = uploaded(STEPS * WIDTH, query);
        outputs_ = device_floats(UPDATES * WIDTH);
    }

    void host_sync() const {
        for (size_t update = 0; update < UPDATES; ++update) {
            attention_.synchronize();
            if (update < LAYERS) append_prompt(update);
            append_token(update);
            append_.synchronize();
            attend(update);
        }
    }

    void one_stream() const {
        for (size_t update = 0; update < UPDATES; ++update) {
            if (update < LAYERS) append_prompt(update);
            append_token(update);
            attend(update);
        }
    }

    void events() const {
        for (size_t update = 0; update < UPDATES; ++update) {
            const CUevent written = written_[update % LAYERS];
            append_.wait_for(attention_);
            if (update < LAYERS) {
                append_prompt(update);
                CU(cuEventRecord(written, append_.raw));
            }
            attention_.wait(written);
            attend(update);
            append_token(update);
            CU(cuEventRecord(written, append_.raw));
        }
    }

    void poison() const {
        for (const auto& pages : pages_) {
            for (const CUdeviceptr page : pages) ::poison(page, page_floats(page_tokens_), append_);
        }
        for (size_t update = 0; update < UPDATES; ++update) {
            ::poison(at(outputs_, update), WIDTH, attention_);
        }
    }

    void check() const {
        const std::vector<Layer> layers = all_layers(tokens());
        for (size_t layer = 0; layer < LAYERS; ++layer) {
            for (size_t i = 0; i < pages_[layer].size(); ++i) {
                const std::vector<float> expected = page(layer, i, page_tokens_, tokens());
                const std::vector<float> found = downloaded(pages_[layer][i], expected.size());
                const size_t bytes = expected.size() * sizeof(float);
                require(std::memcmp(found.data(), expected.data(), bytes) == 0, "a page of the cache");
            }
        }
        const std::vector<float> found = downloaded(outputs_, UPDATES * WIDTH);
        in_parallel(STEPS, [&](size_t begin, size_t end) {
            for (size_t number = begin; number < end; ++number) {
                const auto expected = step(layers, prompt_ + number, number);
                for (size_t layer = 0; layer < LAYERS; ++layer) {
                    require_near(&found[(number * LAYERS + layer) * WIDTH], expected[layer]);
                }
            }
        });
    }

    // The elements of a launch are those of its longest buffer.
    Plan plan() const {
        const size_t table = pages_[0].size(), longest = std::max(WIDTH, table);
        const size_t prompt = std::max(prompt_ * WIDTH, table);
        return {0, 0, LAYERS + 2 * UPDATES, LAYERS * prompt + UPDATES * 2 * longest};
    }

private:
    size_t tokens() const { return prompt_ + STEPS; }
    static CUdeviceptr at(CUdeviceptr rows, size_t row) { return rows + row * WIDTH * sizeof(float); }

    void append_prompt(size_t layer) const {
        const size_t first = layer * prompt_;
        kernels_.append(to_write_[layer], 0, prompt_, at(prompt_keys_, first), at(prompt_values_, first),
                        page_tokens_, append_);
    }

    void append_token(size_t update) const {
        kernels_.append(to_write_[update % LAYERS], prompt_ + update / LAYERS, 1, at(keys_, update),
                        at(values_, update), page_tokens_, append_);
    }

    void attend(size_t update) const {
        const size_t step = update / LAYERS, layer = update % LAYERS;
        const CUdeviceptr queries = layer == 0 ? at(queries_, step) : at(outputs_, update - 1);
        kernels_.attend(to_read_[layer], prompt_ + step, queries, at(outputs_, update), page_tokens_, attention_);
    }

    Kernels kernels_;
    size_t prompt_, page_tokens_;
    const Stream &append_, &attention_;
    std::vector<std::vector<CUdeviceptr>> pages_;
    std::vector<CUdeviceptr> to_write_, to_read_;
    std::vector<CUevent> written_;
    CUdeviceptr prompt_keys_, prompt_values_, keys_, values_, queries_, outputs_;
};

void append(const Program& program) {
    const Stream append, attention;
    const Size size(program);
    const Decode apart(program, size, append, attention), together(program, size, attention, attention);
    const std::vector<Variant> variants = {
        {"host-sync", {&append, &attention}, [&] { apart.host_sync(); }},
        {"one-stream", {&attention}, [&] { together.one_stream(); }},
        {"events", {&append, &attention}, [&] { apart.events(); }},
    };
    const auto prepare = [&] {
        apart.poison();
        together.poison();
    };
    const auto check = [&](const Variant& variant) {
        (variant.streams.size() == 1 ? together : apart).check();
    };
    compare(program, "append", apart.plan(), variants, prepare, check);
}

// A cache in host memory that comes to the device layer by layer, and sequences that continue it.
class Prefetch {
public:
    static constexpr size_t STEPS = 4;

    Prefetch(const Program& program, const Stream& copies, const Stream& attention)
        : kernels_(program), size_(program), sequences_(program.number("sequences", 1)),
          pages_((size_.tokens + size_.page_tokens - 1) / size_.page_tokens),
          floats_(pages_ * page_floats(size_.page_tokens)), ring_(copies, 2, floats_) {
        for (size_t layer = 0; layer < LAYERS; ++layer) {
            float* const cache = page_locked_floats(floats_);
            for (size_t i = 0; i < pages_; ++i) {
                const std::vector<float> one = page(layer, i, size_.page_tokens, size_.tokens);
                std::copy(one.begin(), one.end(), cache + i * one.size());
            }
            on_host_.push_back(cache);
        }
        for (const Ring::Slot& slot : ring_.slots()) {
            std::vector<CUdeviceptr> pages;
            for (size_t i = 0; i < pages_; ++i) pages.push_back(slot.memory + i * floats_ / pages_ * sizeof(float));
            tables_.emplace_back(slot.memory, uploaded_table(pages));
        }
        queries_ = uploaded(STEPS * sequences_ * WIDTH, query);
        outputs_ = device_floats(outputs() * WIDTH);
        attention_ = &attention;
    }

    // Every layer of every step: its pages come in `copies`, and are then read in the stream of attention.
    void decode(const Stream& copies) {
        for (size_t place = 0; place < STEPS * LAYERS; ++place) {
            ring_.turn(copies, [&](Ring::Slot& slot) {
                const float* const from = on_host_[place % LAYERS];
                CU(cuMemcpyHtoDAsync(slot.memory, from, floats_ * sizeof(float), copies.raw));
                attention_->wait_for(copies);
                slot.owner = attention_;
                attend(place, table_of(slot));
            });
        }
    }

    void poison() {
        ring_.poison();
        for (size_t i = 0; i < outputs(); ++i) ::poison(at(outputs_, i), WIDTH, *attention_);
    }

    void check() const {
        const std::vector<Layer> layers = all_layers(size_.tokens);
        const std::vector<float> found = downloaded(outputs_, outputs() * WIDTH);
        in_parallel(STEPS * sequences_, [&](size_t begin, size_t end) {
            for (size_t number = begin; number < end; ++number) {
                const auto expected = step(layers, size_.tokens, number);
                for (size_t layer = 0; layer < LAYERS; ++layer) {
                    const size_t first = number / sequences_ * LAYERS + layer;
                    require_near(&found[(first * sequences_ + number % sequences_) * WIDTH], expected[layer]);
                }
            }
        });
    }

    Plan plan() const {
        return {STEPS * LAYERS * floats_ * sizeof(float), 0, outputs(), outputs() * std::max(WIDTH, pages_)};
    }

private:
    size_t outputs() const { return STEPS * LAYERS * sequences_; }
    static CUdeviceptr at(CUdeviceptr rows, size_t row) { return rows + row * WIDTH * sizeof(float); }

    CUdeviceptr table_of(const Ring::Slot& slot) const {
        for (const auto& [memory, table] : tables_) {
            if (memory == slot.memory) return table;
        }
        fail(1, "a buffer without a page table");
    }

    // Attention of each sequence in one layer; its queries are the outputs of the layer before.
    void attend(size_t place, CUdeviceptr table) const {
        for (size_t i = 0; i < sequences_; ++i) {
            const size_t output = place * sequences_ + i;
            const CUdeviceptr queries = place % LAYERS == 0 ? at(queries_, place / LAYERS * sequences_ + i)
                                                            : at(outputs_, output - sequences_);
            kernels_.attend(table, size_.tokens, queries, at(outputs_, output), size_.page_tokens, *attention_);
        }
    }

    Kernels kernels_;
    Size size_;
    size_t sequences_, pages_, floats_;
    Ring ring_;
    std::vector<float*> on_host_;
    std::vector<std::pair<CUdeviceptr, CUdeviceptr>> tables_;
    CUdeviceptr queries_, outputs_;
    const Stream* attention_;
};

void prefetch(const Program& program) {
    const Stream copies, attention;
    Prefetch work(program, copies, attention);
    const std::vector<Variant> variants = {
        {"one-stream", {&attention}, [&] { work.decode(attention); }},
        {"prefetch", {&copies, &attention}, [&] { work.decode(copies); }},
    };
    compare(program, "prefetch", work.plan(), variants, [&] { work.poison(); },
            [&](const Variant&) { work.check(); });
}
}  // namespace

int main(int count, char** arguments) {
    const Program program(count, arguments);
    if (program.runs("append")) append(program);
    if (program.runs("prefetch")) prefetch(program);
    return 0;
}
