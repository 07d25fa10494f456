/* A library that needs nothing: data, zeros behind them, relocations of its own, a constructor. Damaged copies of it
 * are given to the real loader. */
int zeros[3000];
int data[2500] = { 7, 8 };
int *pointers[300] = { &data[1], &zeros[4] };
int f(int k);
int g(void);
static __attribute__((constructor)) void init(void)
{
    zeros[3] = data[1];
}

int f(int k)
{
    return data[k] + (pointers[k & 1] != 0) + zeros[3];
}

int g(void)
{
    return f(3);
}
