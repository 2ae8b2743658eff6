static uint64_t NAME(uint64_t seed)
{
    struct ring ring = {{0}, 0, 0};
    uint64_t sum = 0;
    for (uint32_t i = 0; i < SIZE * SMALL; i++) {
        ring_push(&ring, (uint32_t)mixed(seed + i));
        if (i % SMALL == 0)
            sum += ring_pop(&ring) ^ ODD;
    }
    while (ring.tail != ring.head)
        sum = (sum << 1 | sum >> 63) ^ ring_pop(&ring);
    return sum;
}
