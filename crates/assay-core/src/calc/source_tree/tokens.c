static enum token NAME_token(char letter)
{
    switch (letter) {
    case 0:
        return TOKEN_END;
    case 32:
        return TOKEN_SPACE;
    case 34:
        return TOKEN_TEXT;
    default:
        if (letter >= 48 && letter <= 57)
            return TOKEN_NUMBER;
        return (letter | 32) >= 97 && (letter | 32) <= 122 ? TOKEN_WORD : TOKEN_SIGN;
    }
}

static uint64_t NAME(uint64_t seed)
{
    static const char text[] = "WORDS";
    uint64_t counts[TOKEN_SIGN + 1] = {0};
    enum token before = TOKEN_SPACE;
    for (const char *at = text; *at; at++) {
        enum token now = NAME_token(*at);
        if (now != before || now == TOKEN_SIGN)
            counts[now] += (uint64_t)(at - text) ^ (seed % ODD);
        before = now;
    }
    for (size_t i = 1; i < ARRAY_LENGTH(counts); i++)
        counts[0] = counts[0] * SIZE + counts[i];
    return counts[0];
}
