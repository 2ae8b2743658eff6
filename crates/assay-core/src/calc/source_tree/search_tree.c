static uint32_t NAME_depth(const struct node *node)
{
    if (!node)
        return 0;
    uint32_t left = NAME_depth(node->left), right = NAME_depth(node->right);
    return 1 + (left > right ? left : right);
}

static uint64_t NAME(uint64_t seed)
{
    struct node pool[SIZE];
    struct node *root = NULL;
    memset(pool, 0, sizeof(pool));
    for (size_t i = 0; i < ARRAY_LENGTH(pool); i++) {
        struct node **at = &root;
        pool[i].key = (uint32_t)mixed(seed ^ (i * ODD));
        while (*at) {
            (*at)->weight++;
            at = pool[i].key < (*at)->key ? &(*at)->left : &(*at)->right;
        }
        *at = &pool[i];
    }
    return ((uint64_t)NAME_depth(root) << SMALL) + (root ? root->weight : 0);
}
