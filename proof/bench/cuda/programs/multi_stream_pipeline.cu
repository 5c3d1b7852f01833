// The parts event-chain and warp-specialised of the example multi_stream_pipeline, in C++.
#include "pipeline_data.h"
#include "scratch.h"

namespace {
// Producer, consumer and output hand chunks on, by events or by a host that waits.
class Chain {
public:
    static constexpr size_t CHUNKS = 16, BUFFERS = 3;
    static constexpr uint32_t PRODUCED = 16, CONSUMED = 64;
    using Roles = std::vector<const Stream*>;  // of producer, consumer, output

    Chain(const Program& program, const Roles& roles)
        : kernel_(program.kernel("fma_tiles_unspecialised")),
          elements_(program.number("size", 64 << 20) / sizeof(float)), chunks_(pieces(elements_, CHUNKS)),
          between_(*roles[0], BUFFERS, chunks_[0].len), results_(*roles[1], BUFFERS, chunks_[0].len),
          expected_(expected_after(PRODUCED + CONSUMED)) {
        output_ = page_locked_floats(elements_);
        fill(DATA, output_, elements_);
        input_ = device_floats(elements_);
        CU(cuMemcpyHtoD(input_, output_, elements_ * sizeof(float)));
    }

    void pass(const Roles& roles, bool host_sync) {
        for (const Piece& chunk : chunks_) one(chunk, roles, host_sync);
    }

    void poison() {
        between_.poison();
        results_.poison();
        ::poison(output_, elements_);
    }

    void check() const { require_all(output_, elements_, DATA, expected_, "the output"); }

    Plan plan() const { return {0, elements_ * sizeof(float), 2 * CHUNKS, 2 * elements_}; }

private:
    void one(const Piece& chunk, const Roles& roles, bool host_sync) {
        const Stream &produce = *roles[0], &consume = *roles[1], &put_out = *roles[2];
        // Few blocks: kernels of several streams find room beside each other.
        const Grid small(4, CONSUMERS);
        const size_t len = chunk.len;
        between_.turn(produce, [&](Ring::Slot& product) {
            launch(kernel_, small, produce, input_ + chunk.begin * sizeof(float), len, product.memory, PRODUCED);
            hand(product, consume, host_sync);
            results_.turn(consume, [&](Ring::Slot& result) {
                launch(kernel_, small, consume, product.memory, len, result.memory, CONSUMED);
                hand(result, put_out, host_sync);
                CU(cuMemcpyDtoHAsync(output_ + chunk.begin, result.memory, len * sizeof(float), put_out.raw));
                if (host_sync) put_out.synchronize();
            });
        });
    }

    static void hand(Ring::Slot& slot, const Stream& to, bool host_sync) {
        if (host_sync) {
            slot.owner->synchronize();
        } else {
            to.wait_for(*slot.owner);
        }
        slot.owner = &to;
    }

    const Seed DATA{21};
    CUfunction kernel_;
    size_t elements_;
    std::vector<Piece> chunks_;
    Ring between_, results_;
    std::vector<float> expected_;
    float* output_;
    CUdeviceptr input_;
};

void event_chain(const Program& program) {
    const Stream producer, consumer, output;
    const Chain::Roles roles = {&producer, &consumer, &output}, one = {&producer, &producer, &producer};
    Chain work(program, roles);
    const std::vector<Variant> variants = {
        {"host-sync", roles, [&] { work.pass(roles, true); }},
        {"one-stream", {&producer}, [&] { work.pass(one, false); }},
        {"events", roles, [&] { work.pass(roles, false); }},
    };
    compare(program, "event-chain", work.plan(), variants, [&] { work.poison(); },
            [&](const Variant&) { work.check(); });
}

// Each form over one array: events around the kernel, which are made before, and a host that waits for it.
void intensity(const Program& program, const Forms& forms, uint32_t rounds) {
    const Seed data(31);
    const size_t elements = program.number("size", 256 << 20) / sizeof(float);
    float* const host = page_locked_floats(elements);
    fill(data, host, elements);
    const CUdeviceptr input = device_floats(elements), output = device_floats(elements);
    CU(cuMemcpyHtoD(input, host, elements * sizeof(float)));
    const Stream stream;
    const std::vector<float> expected = expected_after(rounds);

    struct Case {
        uint32_t blocks;
        Form form;
        std::vector<double> times;
    };
    std::vector<Case> cases;
    for (const uint32_t blocks : {1, 2, 4, 6}) {
        for (const Form form : ALL_FORMS) {
            if (forms.has(form)) cases.push_back({blocks, form, {}});
        }
    }
    const size_t iterations = program.number("iterations", 5);
    for (size_t round = 0; round <= iterations; ++round) {
        for (Case& one : cases) {
            poison(output, elements, stream);
            CU(cuCtxSynchronize());
            CUevent begin, end;
            CU(cuEventCreate(&begin, CU_EVENT_DEFAULT));
            CU(cuEventCreate(&end, CU_EVENT_DEFAULT));
            CU(cuEventRecord(begin, stream.raw));
            forms.launch(one.form, one.blocks, input, elements, output, rounds, stream);
            CU(cuEventRecord(end, stream.raw));
            CU(cuCtxSynchronize());
            float milliseconds;
            CU(cuEventElapsedTime(&milliseconds, begin, end));
            CU(cuEventDestroy(begin));
            CU(cuEventDestroy(end));
            if (round > 0) one.times.push_back(milliseconds * 1e3);
            if (round == iterations) {
                CU(cuMemcpyDtoH(host, output, elements * sizeof(float)));
                require_all(host, elements, data, expected, id_of(one.form));
            }
        }
    }
    for (const Case& one : cases) {
        const std::string group =
            "rounds-" + std::to_string(rounds) + "/blocks-" + std::to_string(one.blocks);
        program.result("warp-specialised", group, id_of(one.form), one.times);
    }
    CU(cuMemFree(input));
    CU(cuMemFree(output));
    CU(cuMemFreeHost(host));
}

// Batches on 1, 2 and 4 streams: copied in, worked on, copied out, in memory from a pool.
class Batches {
public:
    Batches(const Program& program, const Forms& forms, uint32_t rounds)
        : forms_(forms), rounds_(rounds), elements_(program.number("size", 512 << 20) / sizeof(float)),
          batches_(pieces(elements_, std::clamp<size_t>(elements_ >> 20, 32, 128))), pool_(new_pool(UINT64_MAX)),
          expected_(expected_after(rounds)) {
        forbid_reuse(pool_);
        input_ = page_locked_floats(elements_);
        output_ = page_locked_floats(elements_);
        fill(DATA, input_, elements_);
    }

    void pass(Form form, const Streams& streams) const {
        for (size_t i = 0; i < batches_.size(); ++i) one(batches_[i], form, *streams[i % streams.size()]);
    }

    void poison() const { ::poison(output_, elements_); }
    void check() const { require_all(output_, elements_, DATA, expected_, "the batches' output"); }

    Plan plan() const {
        const size_t bytes = elements_ * sizeof(float);
        return {bytes, bytes, batches_.size(), elements_};
    }

private:
    void one(const Piece& batch, Form form, const Stream& stream) const {
        const size_t bytes = batch.len * sizeof(float);
        const CUdeviceptr data = allocate_from(pool_, batch.len, stream);
        const CUdeviceptr result = allocate_from(pool_, batch.len, stream);
        CU(cuMemcpyHtoDAsync(data, input_ + batch.begin, bytes, stream.raw));
        forms_.launch(form, 2, data, batch.len, result, rounds_, stream);
        CU(cuMemcpyDtoHAsync(output_ + batch.begin, result, bytes, stream.raw));
        CU(cuMemFreeAsync(result, stream.raw));
        CU(cuMemFreeAsync(data, stream.raw));
    }

    const Seed DATA{32};
    const Forms& forms_;
    uint32_t rounds_;
    size_t elements_;
    std::vector<Piece> batches_;
    CUmemoryPool pool_;
    std::vector<float> expected_;
    float *input_, *output_;
};

Form form_named(const Program& program, const Forms& forms) {
    const std::string id = program.text("form", id_of(Form::NamedBarriers));
    for (const Form form : ALL_FORMS) {
        if (id == id_of(form) && forms.has(form)) return form;
    }
    fail(2, "--form " + id + " is none");
}

void streams(const Program& program, const Forms& forms, uint32_t rounds) {
    const Form fastest = form_named(program, forms);
    const Stream all[4];
    const Batches batches(program, forms, rounds);
    std::vector<Variant> variants;
    const auto add = [&](const char* id, Form form, size_t count) {
        Streams used;
        for (size_t i = 0; i < count; ++i) used.push_back(&all[i]);
        variants.push_back({id, used, [&batches, form, used] { batches.pass(form, used); }});
    };
    add("unspecialised/streams-1", Form::Unspecialised, 1);
    add("specialised/streams-1", fastest, 1);
    add("specialised/streams-2", fastest, 2);
    add("specialised/streams-4", fastest, 4);
    add("unspecialised/streams-4", Form::Unspecialised, 4);
    // As in the example, every variant finds the pool filled.
    batches.pass(fastest, variants[3].streams);
    CU(cuCtxSynchronize());
    compare(program, "warp-specialised", batches.plan(), variants, [&] { batches.poison(); },
            [&](const Variant&) { batches.check(); });
}
}  // namespace

int main(int count, char** arguments) {
    const Program program(count, arguments);
    if (program.runs("event-chain")) event_chain(program);
    if (program.runs("warp-specialised")) {
        const Forms forms(program);
        const uint32_t rounds = static_cast<uint32_t>(program.number("rounds", 64));
        intensity(program, forms, rounds);
        streams(program, forms, rounds);
    }
    return 0;
}
