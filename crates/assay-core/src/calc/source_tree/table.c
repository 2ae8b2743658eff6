static const uint32_t NAME_table[] = {
TABLE};

static uint64_t NAME(uint64_t seed)
{
    uint64_t sum = seed ^ ODD;
    for (size_t i = 0; i < ARRAY_LENGTH(NAME_table) * SMALL; i++) {
        uint32_t at = (uint32_t)(sum >> 7) % ARRAY_LENGTH(NAME_table);
        sum = mixed(sum + NAME_table[at] * (i + 1));
    }
    return sum;
}
