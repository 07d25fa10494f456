/* Thread-local storage at fixed places, relative relocations in DT_RELR, filters, and an instruction set level. */
static __thread int here __attribute__((tls_model("initial-exec"))) = 3;
extern __thread int there __attribute__((tls_model("initial-exec")));
int read_tls(void);
static int x;
int *pointers[3] = { &x, &x, &x };

int read_tls(void)
{
    here++;
    return here + there + *pointers[1];
}
