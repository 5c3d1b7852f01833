// Where scratch memory comes from.
#pragma once
#include "measure.h"

enum class Kind { Malloc, Threshold0, ThresholdMax, Once };
constexpr Kind ALL_KINDS[] = {Kind::Malloc, Kind::Threshold0, Kind::ThresholdMax, Kind::Once};

inline CUmemoryPool new_pool(uint64_t threshold) {
    CUmemPoolProps properties{};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool;
    CU(cuMemPoolCreate(&pool, &properties));
    CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    return pool;
}

inline CUdeviceptr allocate_from(CUmemoryPool pool, size_t floats, const Stream& stream) {
    CUdeviceptr memory;
    CU(cuMemAllocFromPoolAsync(&memory, floats * sizeof(float), pool, stream.raw));
    return memory;
}

// One of the kinds, with what it needs.
class Source {
public:
    Source(Kind kind, size_t streams, size_t floats) : kind_(kind) {
        if (kind == Kind::Threshold0) pool_ = new_pool(0);
        if (kind == Kind::ThresholdMax) pool_ = new_pool(UINT64_MAX);
        for (size_t i = 0; kind == Kind::Once && i < streams; ++i) once_.push_back(device_floats(floats));
    }

    const char* name() const {
        switch (kind_) {
            case Kind::Malloc: return "cuMemAlloc";
            case Kind::Threshold0: return "pool, threshold 0";
            case Kind::ThresholdMax: return "pool, threshold max";
            default: return "allocated once";
        }
    }

    CUdeviceptr allocate(size_t index, const Stream& stream, size_t floats) {
        if (pool_) return allocate_from(pool_, floats, stream);
        return kind_ == Kind::Once ? once_[index] : device_floats(floats);
    }

    // Behind what the stream has been given: cuMemFree waits for it, the pool's free comes after it.
    void free(CUdeviceptr memory, const Stream& stream) {
        if (pool_) {
            CU(cuMemFreeAsync(memory, stream.raw));
        } else if (kind_ == Kind::Malloc) {
            CU(cuMemFree(memory));
        }
    }

private:
    Kind kind_;
    CUmemoryPool pool_ = nullptr;
    std::vector<CUdeviceptr> once_;
};
