// Timing variants against one another, as examples-host's measure.rs does: regions that fork from a start event and join
// in an end event; the variants alternate.
#pragma once
#include "twin.h"

class Stopwatch {
public:
    Stopwatch() {
        CU(cuEventCreate(&start_, CU_EVENT_DEFAULT));
        CU(cuEventCreate(&end_, CU_EVENT_DEFAULT));
    }

    // Microseconds on the device's clock that what `body` enqueues in the streams takes; `issuing` is what `body` itself took on the host's.
    template <typename F>
    double time(const Streams& streams, F&& body) {
        CU(cuCtxSynchronize());
        CU(cuEventRecord(start_, origin_.raw));
        for (const Stream* stream : streams) stream->wait(start_);
        const auto begin = Clock::now();
        body();
        issuing = microseconds(Clock::now() - begin);
        for (const Stream* stream : streams) origin_.wait_for(*stream);
        CU(cuEventRecord(end_, origin_.raw));
        CU(cuEventSynchronize(end_));
        float milliseconds;
        CU(cuEventElapsedTime(&milliseconds, start_, end_));
        return milliseconds * 1e3;
    }

    double issuing = 0;

private:
    Stream origin_;
    CUevent start_, end_;
};

struct Variant {
    std::string id;
    Streams streams;
    std::function<void()> body;
};

// Runs the variants of the plan alternately, one round to warm up and `iterations` to time; `prepare` comes before each run, `check` after
// the last run of each. With a number of steps, what one of them takes of the host's thread is a result, too.
inline void compare(const Program& program, const char* part, const Plan& plan,
                    const std::vector<Variant>& variants, const std::function<void()>& prepare,
                    const std::function<void(const Variant&)>& check, const std::string& group = "variants",
                    size_t steps = 0) {
    Stopwatch watch;
    const size_t iterations = program.number("iterations", 10);
    std::vector<std::vector<double>> times(variants.size()), issuing(variants.size());
    for (size_t round = 0; round <= iterations; ++round) {
        for (size_t i = 0; i < variants.size(); ++i) {
            prepare();
            const double time = watch.time(variants[i].streams, variants[i].body);
            if (round > 0) times[i].push_back(time);
            if (round > 0 && steps > 0) issuing[i].push_back(watch.issuing / steps);
            if (round == iterations) check(variants[i]);
        }
    }
    for (size_t i = 0; i < variants.size(); ++i) {
        program.result(part, group, variants[i].id, times[i], &plan);
        if (steps > 0) program.result(part, "host/" + group, variants[i].id, issuing[i]);
    }
}

// An amount of memory as a part of the examples' ids: in the largest unit that divides it.
inline std::string bytes_id(uint64_t bytes) {
    const char* const units[] = {"b", "kib", "mib", "gib"};
    size_t unit = 0;
    for (; unit < 3 && bytes % 1024 == 0; ++unit) bytes /= 1024;
    return std::to_string(bytes) + units[unit];
}

// Device memory that takes turns: see examples-host's ring.rs.
class Ring {
public:
    struct Slot {
        CUdeviceptr memory;
        const Stream* owner;
        CUevent done;  // behind the last turn
    };

    Ring(const Stream& owner, size_t count, size_t floats) : floats_(floats) {
        for (size_t i = 0; i < count; ++i) {
            Slot slot{device_floats(floats), &owner, nullptr};
            CU(cuEventCreate(&slot.done, CU_EVENT_DISABLE_TIMING));
            slots_.push_back(slot);
        }
    }

    // The next slot, for `stream`, behind the slot's last turn. `body` may hand it on.
    template <typename F>
    void turn(const Stream& stream, F&& body) {
        Slot& slot = slots_[next_];
        next_ = (next_ + 1) % slots_.size();
        if (slot.owner != &stream) {
            stream.wait(slot.done);
            slot.owner = &stream;
        }
        body(slot);
        CU(cuEventRecord(slot.done, slot.owner->raw));
    }

    void poison() {
        for (Slot& slot : slots_) {
            ::poison(slot.memory, floats_, *slot.owner);
            CU(cuEventRecord(slot.done, slot.owner->raw));
        }
    }

    const std::vector<Slot>& slots() const { return slots_; }

private:
    std::vector<Slot> slots_;
    size_t floats_, next_ = 0;
};
