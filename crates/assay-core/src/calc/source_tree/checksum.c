static uint64_t NAME(uint64_t seed)
{
    uint32_t table[256], sum = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ ODD : value >> 1;
        table[i] = value;
    }
    for (uint32_t i = 0; i < SIZE * SMALL; i++) {
        unsigned char byte = (unsigned char)(seed >> (i % 57));
        sum = table[(sum ^ byte) & 255] ^ sum >> 8;
    }
    return ~sum;
}
