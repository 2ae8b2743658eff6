static uint64_t NAME(uint64_t seed)
{
    uint32_t a[SIZE][SIZE], b[SIZE][SIZE];
    uint64_t trace = 0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            a[i][j] = (uint32_t)(seed >> (i % 13)) + (uint32_t)j;
            b[j][i] = (uint32_t)(seed >> (j % 11)) ^ ODD;
        }
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            uint64_t cell = 0;
            for (int k = 0; k < SIZE; k++)
                cell += (uint64_t)a[i][k] * b[k][j];
            if (i == j)
                trace += cell;
            else if (cell % SMALL == 0)
                trace ^= cell;
        }
    return trace;
}
