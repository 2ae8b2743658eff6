// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
// Buckets of a latency: the same arithmetic as `latency_bucket` in block_latency.rs, which a test
// holds against this one. 0 below 256 ns, then 32 of equal width to each doubling up to 2^37 ns,
// and a last one for all that is longer.

#define LATENCY_BUCKETS 930

static inline __attribute__((always_inline)) unsigned int latency_bucket(unsigned long long ns)
{
	unsigned int high, octave = 0;

	if (ns < 256)
		return 0;
	if (ns >> 37)
		return LATENCY_BUCKETS - 1;
	high = ns >> 8;
	if (high >> 16) { high >>= 16; octave += 16; }
	if (high >> 8) { high >>= 8; octave += 8; }
	if (high >> 4) { high >>= 4; octave += 4; }
	if (high >> 2) { high >>= 2; octave += 2; }
	octave += high >> 1;
	return 1 + octave * 32 + ((ns >> (octave + 3)) & 31);
}
