// Sums of floats without any rounding: as one whole number of the smallest float there is.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace rankstone {

class ExactSum {
public:
    void add(double value) {
        const auto bits = std::bit_cast<uint64_t>(value);
        const auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
        if (exponent == 0x7ff) {
            other_ += value;
            return;
        }
        const uint64_t part = bits & ((uint64_t{1} << 52) - 1), digits = exponent ? part | uint64_t{1} << 52 : part;
        const int place = exponent ? exponent - 1 : 0, shift = place % width;
        const uint64_t low = (digits & mask) << shift, high = (digits >> width) << shift;
        const int64_t sign = bits >> 63 ? -1 : 1;
        int64_t* limb = limbs_.data() + place / width;
        limb[0] += sign * static_cast<int64_t>(low & mask);
        limb[1] += sign * static_cast<int64_t>((low >> width) + (high & mask));
        limb[2] += sign * static_cast<int64_t>(high >> width);
        if (++added_ == most) carry();
    }

    // The sum of what is infinite or not a number.
    double other() const { return other_; }

    // The rest, as a signed number of the smallest float: its bytes, the lowest first.
    std::vector<unsigned char> bytes() {
        carry();
        std::vector<unsigned char> out;
        for (const int64_t limb : limbs_)
            for (int byte = 0; byte < width / 8; ++byte) out.push_back(static_cast<unsigned char>(limb >> 8 * byte));
        return out;
    }

private:
    static constexpr int width = 32;  // bits of a limb, but for the last; the rest is room for sums
    static constexpr uint64_t mask = (uint64_t{1} << width) - 1;
    static constexpr int64_t most = int64_t{1} << 29;  // values whose limbs cannot overflow

    // Leaves limbs from 0 to the mask, but for the last, which has the sign.
    void carry() {
        for (size_t i = 0; i + 1 < limbs_.size(); ++i) {
            limbs_[i + 1] += limbs_[i] >> width;
            limbs_[i] &= static_cast<int64_t>(mask);
        }
        added_ = 0;
    }

    // 2,099 bits of the largest float, and room for the sum of as many as there can be.
    std::array<int64_t, 69> limbs_{};
    int64_t added_ = 0;
    double other_ = 0;
};

}  // namespace rankstone
