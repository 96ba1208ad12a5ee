/*
 * mlcp_bullet_impulses.hpp: the last step's impulses, by joint or contact point. Inside of mlcp_bullet.hpp.
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef MLCP_BULLET_IMPULSES_HPP
#define MLCP_BULLET_IMPULSES_HPP

#include "mlcp_bullet_buffer.hpp"

#include <cstdint>

namespace mlcp {
namespace bullet {
namespace detail {

/// Impulses of the last step by (joint or contact point, row of it). Pointers are compared, never followed, so one that
/// was freed and used again costs at most a worse start.
class ImpulseCache {
public:
    ImpulseCache() : size_(0), used_(0), written_(0) {}

    double find(const void *owner, int row) const
    {
        const std::size_t at = size_ ? slot(owner, row) : 0;
        return size_ && entries_[at].owner ? entries_[at].impulse : 0.0;
    }

    /// Forgets the impulse when there is no memory for it.
    void set(const void *owner, int row, double impulse)
    {
        if (2 * (used_ + 1) > size_ && !grow()) {
            return;
        }
        Entry &entry = entries_[slot(owner, row)];
        used_ += entry.owner ? 0 : 1;
        entry.owner = owner;
        entry.row = row;
        entry.impulse = impulse;
        written_++;
    }

    /// Once most entries belong to rows that are gone, forget all.
    void begin_step()
    {
        if (used_ > 2 * written_ + 64) {
            clear();
        }
        written_ = 0;
    }

    void clear()
    {
        for (std::size_t i = 0; i < size_; i++) {
            entries_[i].owner = nullptr;
        }
        used_ = 0;
    }

private:
    struct Entry {
        const void *owner;
        int row;
        double impulse;
    };
    Buffer<Entry> entries_;
    std::size_t size_, used_, written_;

    /// The entry of this key, or the free one where it belongs.
    std::size_t slot(const void *owner, int row) const
    {
        const std::uint64_t key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(owner)) / 8u * 31u
                                  + static_cast<std::uint64_t>(row);
        std::size_t at = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 32) & (size_ - 1);
        while (entries_[at].owner && !(entries_[at].owner == owner && entries_[at].row == row)) {
            at = (at + 1) & (size_ - 1);
        }
        return at;
    }

    bool grow()
    {
        Buffer<Entry> old;
        const std::size_t count = size_;
        if (!old.reserve(count) || !entries_.reserve(count ? 2 * count : 256)) {
            return false;
        }
        for (std::size_t i = 0; i < count; i++) {
            old[i] = entries_[i];
        }
        size_ = count ? 2 * count : 256;
        clear();
        for (std::size_t i = 0; i < count; i++) {
            if (old[i].owner) {
                entries_[slot(old[i].owner, old[i].row)] = old[i];
                used_++;
            }
        }
        return true;
    }
};

} // namespace detail
} // namespace bullet
} // namespace mlcp

#endif
