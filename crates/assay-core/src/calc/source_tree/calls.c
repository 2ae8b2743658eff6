static uint64_t NAME_add(uint64_t sum, uint64_t value) { return sum + value * SMALL; }
static uint64_t NAME_turn(uint64_t sum, uint64_t value) { return (sum << 7 | sum >> 57) ^ value; }
static uint64_t NAME_cut(uint64_t sum, uint64_t value) { return (sum & ~value) - ODD; }

static uint64_t NAME(uint64_t seed)
{
    static uint64_t (*const steps[])(uint64_t, uint64_t) = {NAME_add, NAME_turn, NAME_cut};
    uint64_t sum = seed;
    for (uint32_t i = 0; i < SIZE; i++)
        sum = steps[mixed(sum + i) % ARRAY_LENGTH(steps)](sum, i);
    return sum;
}
