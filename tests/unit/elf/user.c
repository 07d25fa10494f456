/* A library that wants versioned symbols by data, by call, weakly, and one that nobody has. */
extern int data_here;
extern int nobody_has_data;
int both(void);
int new_(void);
int nobody_has_this(void);
int maybe(void) __attribute__((weak));
int use(void);
int more_use(void);

int *by_data = &data_here;
int (*by_address)(void) = new_;
static int counter;

int use(void)
{
    counter++;
    return both() + *by_data + (maybe ? maybe() : 0) + by_address();
}

int more_use(void)
{
    return nobody_has_this() + nobody_has_data + use();
}
