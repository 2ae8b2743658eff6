#ifndef COMMON_H
#define COMMON_H

#include <stddef.h>
#include <stdint.h>

#define RING_SIZE 32u
#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct ring {
    uint32_t values[RING_SIZE];
    uint32_t head;
    uint32_t tail;
};

struct node {
    struct node *left;
    struct node *right;
    uint32_t key;
    uint32_t weight;
};

struct link {
    struct link *next;
    uint64_t value;
};

enum token { TOKEN_END, TOKEN_SPACE, TOKEN_NUMBER, TOKEN_WORD, TOKEN_TEXT, TOKEN_SIGN };

static inline uint64_t mixed(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdull;
    value ^= value >> 29;
    return value;
}

static inline void ring_push(struct ring *ring, uint32_t value)
{
    ring->values[ring->head++ % RING_SIZE] = value;
    if (ring->head - ring->tail > RING_SIZE)
        ring->tail = ring->head - RING_SIZE;
}

static inline uint32_t ring_pop(struct ring *ring)
{
    return ring->tail == ring->head ? 0 : ring->values[ring->tail++ % RING_SIZE];
}

#endif
