// Where scratch memory comes from.
#pragma once
#include "measure.h"

enum class Kind { Malloc, Threshold0, ThresholdMax, OwnStream, Once };
constexpr Kind ALL_KINDS[] = {Kind::Malloc, Kind::Threshold0, Kind::ThresholdMax, Kind::OwnStream, Kind::Once};

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

// Freed memory then never crosses to another stream.
inline void forbid_reuse(CUmemoryPool pool) {
    for (const CUmemPool_attribute policy :
         {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
          CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
        int allowed = 0;
        CU(cuMemPoolSetAttribute(pool, policy, &allowed));
    }
}

// One of the kinds, with what it needs.
class Source {
public:
    Source(Kind kind, size_t streams, size_t floats) : kind_(kind) {
        if (kind == Kind::Threshold0) pool_ = new_pool(0);
        if (kind == Kind::ThresholdMax || kind == Kind::OwnStream) pool_ = new_pool(UINT64_MAX);
        if (kind == Kind::OwnStream) forbid_reuse(pool_);
        for (size_t i = 0; kind == Kind::Once && i < streams; ++i) once_.push_back(device_floats(floats));
    }

    const char* id() const {
        switch (kind_) {
            case Kind::Malloc: return "malloc";
            case Kind::Threshold0: return "pool-threshold-0";
            case Kind::ThresholdMax: return "pool-threshold-max";
            case Kind::OwnStream: return "pool-own-stream";
            default: return "once";
        }
    }

    CUdeviceptr allocate(size_t index, const Stream& stream, size_t floats) {
        if (pool_) return allocate_from(pool_, floats, stream);
        return kind_ == Kind::Once ? once_[index] : device_floats(floats);
    }

    // Behind what the stream has been given. The same calls as the Rust program, which does not rely on cuMemFree to wait.
    void free(CUdeviceptr memory, const Stream& stream) {
        if (pool_) {
            CU(cuMemFreeAsync(memory, stream.raw));
        } else if (kind_ == Kind::Malloc) {
            CU(cuStreamSynchronize(stream.raw));
            CU(cuMemFree(memory));
        }
    }

private:
    Kind kind_;
    CUmemoryPool pool_ = nullptr;
    std::vector<CUdeviceptr> once_;
};
