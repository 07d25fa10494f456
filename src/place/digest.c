/* SHA-256 (FIPS 180-4), for the few small files that sizes cannot tell apart. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "place/internal.h"

struct sha256 {
    uint32_t h[8];
    uint64_t total;
    unsigned char block[64];
    size_t held;
};

static uint32_t rotr(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void sha256_block(struct sha256 *s, const unsigned char *b)
{
    static const uint32_t k[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
    };
    uint32_t w[64], v[8];
    for (size_t i = 0; i < 16; i++)
        w[i] = (uint32_t)b[4 * i] << 24 | (uint32_t)b[4 * i + 1] << 16 | (uint32_t)b[4 * i + 2] << 8 | b[4 * i + 3];
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, s->h, sizeof(v));
    for (size_t i = 0; i < 64; i++) {
        uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
        uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
        uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (size_t i = 0; i < 8; i++)
        s->h[i] += v[i];
}

static void sha256_add(struct sha256 *s, const unsigned char *b, size_t n)
{
    s->total += n;
    while (n > 0) {
        size_t take = sizeof(s->block) - s->held < n ? sizeof(s->block) - s->held : n;
        memcpy(s->block + s->held, b, take);
        s->held += take;
        b += take;
        n -= take;
        if (s->held == sizeof(s->block)) {
            sha256_block(s, s->block);
            s->held = 0;
        }
    }
}

static void sha256_end(struct sha256 *s, char hex[65])
{
    uint64_t bits = s->total * 8;
    unsigned char tail[8];
    for (size_t i = 0; i < 8; i++)
        tail[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, (const unsigned char *)"\x80", 1);
    while (s->held != 56)
        sha256_add(s, (const unsigned char *)"", 1);
    sha256_add(s, tail, sizeof(tail));
    for (size_t i = 0; i < 8; i++)
        (void)snprintf(hex + 8 * i, 9, "%08x", s->h[i]);
}

int place_digest(int fd, uint64_t max_bytes, char hex[65])
{
    struct sha256 s = { .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                               0x5be0cd19 } };
    unsigned char buf[32 * 1024];
    for (;;) {
        ssize_t n = RETRY(read(fd, buf, sizeof(buf)));
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        if ((uint64_t)n > max_bytes - s.total)
            return -EFBIG;
        sha256_add(&s, buf, (size_t)n);
    }
    sha256_end(&s, hex);
    return 0;
}
