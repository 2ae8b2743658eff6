static uint64_t NAME(uint64_t seed)
{
    struct link pool[SIZE];
    struct link *first = NULL, *turned = NULL;
    uint64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(pool); i++) {
        pool[i].value = mixed(seed + i * ODD);
        pool[i].next = first;
        first = &pool[i];
    }
    while (first) {
        struct link *next = first->next;
        if (first->value % SMALL) {
            first->next = turned;
            turned = first;
        }
        first = next;
    }
    for (struct link *at = turned; at; at = at->next)
        sum = sum * 31 + at->value;
    return sum;
}
