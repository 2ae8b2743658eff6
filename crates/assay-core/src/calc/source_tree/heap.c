static void NAME_sink(uint32_t *heap, size_t from, size_t count)
{
    for (;;) {
        size_t child = 2 * from + 1;
        if (child >= count)
            return;
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[from] >= heap[child])
            return;
        uint32_t kept = heap[from];
        heap[from] = heap[child];
        heap[child] = kept;
        from = child;
    }
}

static uint64_t NAME(uint64_t seed)
{
    uint32_t heap[SIZE * SMALL];
    uint64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(heap); i++)
        heap[i] = (uint32_t)mixed(seed + i) % ODD;
    for (size_t i = ARRAY_LENGTH(heap) / 2; i-- > 0;)
        NAME_sink(heap, i, ARRAY_LENGTH(heap));
    for (size_t left = ARRAY_LENGTH(heap); left > 1; left--) {
        sum = sum * 33 + heap[0];
        heap[0] = heap[left - 1];
        NAME_sink(heap, 0, left - 1);
    }
    return sum;
}
