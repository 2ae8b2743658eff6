static uint64_t NAME(uint64_t seed)
{
    static const char one[] = "WORDS";
    char other[SIZE * SMALL];
    uint16_t lengths[2][sizeof(one) + 1];
    memset(lengths, 0, sizeof(lengths));
    for (size_t i = 0; i < sizeof(other); i++)
        other[i] = one[(seed + i * SMALL) % sizeof(one)];
    for (size_t i = 1; i <= sizeof(other); i++)
        for (size_t j = 1; j <= sizeof(one); j++) {
            uint16_t *now = lengths[i & 1];
            const uint16_t *before = lengths[(i - 1) & 1];
            if (other[i - 1] == one[j - 1])
                now[j] = (uint16_t)(before[j - 1] + 1);
            else
                now[j] = before[j] > now[j - 1] ? before[j] : now[j - 1];
        }
    return lengths[sizeof(other) & 1][sizeof(one)] * (uint64_t)ODD;
}
