/* A library with two versions: old@V1 (hidden), both@V1 and both@@V2, new@@V2, and data. */
int both_1(void);
int both_2(void);
int old(void);
int new_(void);
int hidden_away(void);
int data_here = 4;
int *pointer = &data_here;
int zeros[40];

int both_1(void)
{
    return 1;
}

int both_2(void)
{
    return 2 + hidden_away();
}

int old(void)
{
    return 3;
}

int new_(void)
{
    return *pointer + zeros[3];
}

__attribute__((visibility("hidden"))) int hidden_away(void)
{
    return 0;
}

__asm__(".symver both_1, both@V1");
__asm__(".symver both_2, both@@V2");
__asm__(".symver old, old@V1");
