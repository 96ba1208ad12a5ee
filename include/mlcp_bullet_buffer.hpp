/*
 * mlcp_bullet_buffer.hpp: an array whose memory is kept from step to step. Inside of mlcp_bullet.hpp.
 *
 * Licence: MIT OR Apache-2.0.
 */
#ifndef MLCP_BULLET_BUFFER_HPP
#define MLCP_BULLET_BUFFER_HPP

#include <cstddef>
#include <cstdlib>

namespace mlcp {
namespace bullet {
namespace detail {

/// An array that keeps its memory and, unlike std::vector, says when there is none instead of throwing.
template <class T> class Buffer {
public:
    Buffer() : data_(nullptr), capacity_(0) {}
    ~Buffer() { std::free(data_); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    /// Room for n elements; old contents are kept.
    bool reserve(std::size_t n)
    {
        if (n <= capacity_) {
            return true;
        }
        const std::size_t room = n + n / 2 + 16;
        const bool fits = room <= static_cast<std::size_t>(-1) / sizeof(T);
        void *grown = fits ? std::realloc(data_, room * sizeof(T)) : nullptr;
        if (!grown) {
            return false;
        }
        data_ = static_cast<T *>(grown);
        capacity_ = room;
        return true;
    }
    T *data() { return data_; }
    const T *data() const { return data_; }
    T &operator[](std::size_t i) { return data_[i]; }
    const T &operator[](std::size_t i) const { return data_[i]; }

private:
    T *data_;
    std::size_t capacity_;
};

} // namespace detail
} // namespace bullet
} // namespace mlcp

#endif
