// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0
//
// Counts the requests of block devices by class, with their latencies. This header is the whole
// contract; `block_latency/bpf.rs` is its other side.
//
// Programs (they see every device; what is not watched is never counted)
//   tp_btf/block_bio_queue      bio_queued    stamps a bio with its arrival and its length
//   tp_btf/block_bio_remap      bio_remapped  stamps it earlier, on its way from a partition or a stacked device:
//                                             block_bio_queue comes only when control groups let it go
//   fexit/__blk_throtl_bio      held_back     optional: stamps what a control group's limit holds back on its
//                                             way to a whole disk
//   tp_btf/block_split          part_cut      gives the front part, a bio of its own, the stamp of the whole
//   tp_btf/block_rq_issue       request_issued   stamps a request with its hand-over to the driver
//   tp_btf/block_rq_complete    request_ended    counts it
//   tp_btf/block_bio_complete   bio_ended        counts the bios of devices that make no requests (zram, dm)
//
// Constants, set before loading
//   device_count, device_numbers   whole disks that are watched: major << 20 | minor
//   traced_flag                    the bit of bio.bi_flags that says that block_bio_queue has seen it
//                                  (BIO_TRACE_COMPLETION, which has no name that can be relocated)
//   recording                      1: each request that ends is handed out as well, by the map `requests`
//
// Maps
//   totals   per-CPU array, entry device * 6 + class: struct totals, cumulative. Classes: 0 read, 1 write,
//            2 flush, 3 discard (and secure erase), 4 write zeroes, 5 FUA write
//   requests ring buffer of struct ended, in the order in which requests ended; what found no room is counted
//            as `unrecorded` of its class. Sectors and bytes of a request are those of its last hand-over to the
//            driver, of a bio those of its arrival.
//   .bss     stamps: two tables without locks or lists. An address has one place; who finds another's
//            address there has lost its stamp, and is counted as unseen. Addresses are cut by 6 bits, so that
//            neighbours (requests of a queue, bios of a slab) never meet.
//
// What counts
//   A request counts once, when its last bytes end; bytes that end earlier are added as they come. It ends
//   with nothing left twice where the kernel puts flushes around it: the end without bytes is not counted.
//   An empty write that asks for a flush is the caller's half of a flush request, and is not counted either.
//   queued   from the arrival of the bio at the front of the request (what was merged behind it came later).
//            Of a flush, which no bio belongs to, since the kernel made it: callers who come while another
//            flush is under way have waited longer.
//   issued   from the last hand-over to the driver. A write that is followed by a flush of its own ends before
//            that flush.
//   Requests whose arrival nobody saw count from rq->start_time_ns, and as unseen.
//   Of bio-based devices each bio that ends counts, queued only; an empty write with a flush is a flush there
//   (a device without a volatile cache never sees one: the kernel answers it).
//
// Needs Linux 5.17 (request_queue.disk) with BTF. Built by `cargo xtask bpf`.

#include "latency_bucket.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name

// The few fields of the kernel's structures that are looked at; where they lie is relocated on loading.
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct gendisk { int major; int first_minor; };
struct request_queue { const void *mq_ops; struct gendisk *disk; };
struct block_device { struct gendisk *bd_disk; struct request_queue *bd_queue; };
struct bvec_iter { u64 bi_sector; u32 bi_size; };
struct bio {
	struct block_device *bi_bdev;
	u32 bi_opf;
	u16 bi_flags;
	u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private;
};
struct request {
	struct request_queue *q;
	u32 cmd_flags;
	u32 __data_len;
	struct bio *bio;
	u64 start_time_ns;
	u64 __sector;
};
#pragma clang attribute pop

static u64 (*const now_ns)(void) = (void *)5;
static void *(*const look_up)(void *map, const void *key) = (void *)1;
static void *(*const reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*const submit)(void *record, u64 flags) = (void *)132;

enum { READ, WRITE, FLUSH, DISCARD, WRITE_ZEROES, FUA, CLASSES, NO_CLASS };

#define OP_MASK 0xff
#define OP_READ 0
#define OP_WRITE 1
#define OP_FLUSH 2
#define OP_DISCARD 3
#define OP_SECURE_ERASE 5
#define OP_ZONE_APPEND 7
#define OP_WRITE_ZEROES 9
#define FLAG_SYNC (1u << 11)
#define FLAG_META (1u << 12)
#define FLAG_FUA (1u << 17)
#define FLAG_PREFLUSH (1u << 18)
#define FLAG_READ_AHEAD (1u << 19)

#define MOST_DEVICES 64
const volatile u32 device_count = 1;
const volatile u32 device_numbers[MOST_DEVICES] = {};
const volatile u32 traced_flag = 0;
const volatile u32 recording = 0;

struct latencies {
	u64 sum_ns;
	u64 buckets[LATENCY_BUCKETS];
};

struct totals {
	u64 requests;
	u64 failed;
	u64 bytes;
	u64 unseen;
	u64 unrecorded;
	struct latencies queued;
	struct latencies issued;
};

struct {
	__uint(type, 6); // per-CPU array
	__uint(max_entries, CLASSES);
	__type(key, u32);
	__type(value, struct totals);
} totals SEC(".maps");

// One request that ended; stamps of the monotonic clock, 0 where nobody saw it.
struct ended {
	u64 arrived_ns;
	u64 issued_ns;
	u64 ended_ns;
	u64 sector; // of 512 bytes, from the start of the whole disk
	u32 bytes;
	u16 device;
	u8 class;
	u8 flags;
};

enum { SYNC = 1, META = 2, PREFLUSH = 4, READ_AHEAD = 8, FAILED = 16 };

// Nobody is woken for a record: who reads comes by himself.
#define NO_WAKE_UP 1

struct {
	__uint(type, 27); // ring buffer
	__uint(max_entries, 4096);
} requests SEC(".maps");

#define STAMPS (1u << 16)

struct arrival {
	u64 key;
	u64 ns;
	u32 bytes;
	u32 early; // stamped before block_bio_queue, which is still to come for it
	u64 sector; // also tells an early stamp from that of a bio that never came to block_bio_queue
};

struct issue {
	u64 key;
	u64 ns;
	u64 sector;
	u32 bytes;
	u32 unused;
};

struct arrival arrivals[STAMPS];
struct issue issues[STAMPS];

// The order of two stores or loads is that of the text.
#define ORDERED() asm volatile("" ::: "memory")

INLINE u32 place_of(u64 key)
{
	u32 low;

	// The verifier takes the low half of a pointer for a number, but shifts no pointers.
	asm volatile("%0 = %1" : "=w"(low) : "w"((u32)key));
	return low >> 6 & (STAMPS - 1);
}

INLINE void stamp(struct arrival *place, u64 key, u64 ns, u32 bytes, u64 sector)
{
	place->ns = ns;
	place->bytes = bytes;
	place->sector = sector;
	place->early = 0;
	ORDERED();
	place->key = key;
}

SEC("tp_btf/block_bio_queue")
int bio_queued(u64 *ctx)
{
	struct bio *bio = (void *)ctx[0];
	u64 key = (u64)bio;
	struct arrival *place = &arrivals[place_of(key)];

	if (place->key == key && place->early && place->sector == bio->bi_iter.bi_sector) {
		place->early = 0;
		return 0;
	}
	stamp(place, key, now_ns(), bio->bi_iter.bi_size, bio->bi_iter.bi_sector);
	return 0;
}

INLINE void stamp_early(struct bio *bio)
{
	struct arrival *place = &arrivals[place_of((u64)bio)];

	// What is cut or stacked comes again, but never again to block_bio_queue: its stamp stays.
	if (bio->bi_flags & traced_flag)
		return;
	stamp(place, (u64)bio, now_ns(), bio->bi_iter.bi_size, bio->bi_iter.bi_sector);
	place->early = 1;
}

SEC("tp_btf/block_bio_remap")
int bio_remapped(u64 *ctx)
{
	stamp_early((void *)ctx[0]);
	return 0;
}

SEC("fexit/__blk_throtl_bio")
int held_back(u64 *ctx)
{
	struct bio *bio = (void *)ctx[0];
	struct arrival *place = &arrivals[place_of((u64)bio)];

	// It came from a partition: that stamp is the better one.
	if ((u8)ctx[1] && !(place->key == (u64)bio && place->early))
		stamp_early(bio);
	return 0;
}

SEC("tp_btf/block_split")
int part_cut(u64 *ctx)
{
	struct bio *part = (void *)ctx[0];
	u64 whole = (u64)part->bi_private, key = (u64)part;
	struct arrival *from = &arrivals[place_of(whole)], *place = &arrivals[place_of(key)];
	u32 bytes = part->bi_iter.bi_size;
	u64 ns;

	if (whole && from->key == whole) {
		ns = from->ns;
		from->bytes -= bytes;
		// An early stamp is known by where its bio began.
		if (!from->early)
			from->sector += bytes >> 9;
	} else if (part->bi_bdev->bd_queue->mq_ops) {
		ns = now_ns();
	} else {
		// Device mapper shows the rest, which has its stamp, instead of a new bio.
		if (place->key == key)
			place->bytes = bytes;
		return 0;
	}
	stamp(place, key, ns, bytes, part->bi_iter.bi_sector);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int request_issued(u64 *ctx)
{
	u64 key = ctx[0];
	struct request *request = (void *)ctx[0];
	struct issue *place = &issues[place_of(key)];

	place->ns = now_ns();
	if (recording) {
		place->sector = request->__sector;
		place->bytes = request->__data_len;
	}
	ORDERED();
	place->key = key;
	return 0;
}

INLINE u32 device_of(struct gendisk *disk)
{
	u32 number = (u32)disk->major << 20 | (u32)disk->first_minor;
	u32 count = device_count, device;

#pragma clang loop unroll(disable)
	for (device = 0; device < MOST_DEVICES && device < count; device++)
		if (device_numbers[device] == number)
			return device;
	return MOST_DEVICES;
}

INLINE u32 class_of(u32 flags)
{
	u32 op = flags & OP_MASK;

	if (op == OP_READ)
		return READ;
	if (op == OP_WRITE || op == OP_ZONE_APPEND)
		return flags & FLAG_FUA ? FUA : WRITE;
	if (op == OP_FLUSH)
		return FLUSH;
	if (op == OP_DISCARD || op == OP_SECURE_ERASE)
		return DISCARD;
	return op == OP_WRITE_ZEROES ? WRITE_ZEROES : NO_CLASS;
}

INLINE struct totals *totals_of(u32 device, u32 class)
{
	u32 entry = device * CLASSES + class;

	return look_up(&totals, &entry);
}

INLINE void add(struct latencies *to, u64 ns)
{
	u32 bucket = latency_bucket(ns);

	// For the verifier, which does not follow the arithmetic.
	asm volatile("" : "+r"(bucket));
	if (bucket >= LATENCY_BUCKETS)
		return;
	to->sum_ns += ns;
	to->buckets[bucket] += 1;
}

// Nanoseconds since the arrival of a bio, and its bytes; 0 where its place is another's.
INLINE u64 arrived(u64 key, u32 *bytes)
{
	struct arrival *place = &arrivals[place_of(key)];
	u64 ns = place->ns;

	*bytes = place->bytes;
	ORDERED();
	return key && place->key == key ? ns : 0;
}

INLINE u8 flags_of(u32 flags, u8 failed)
{
	return (flags & FLAG_SYNC ? SYNC : 0) | (flags & FLAG_META ? META : 0) |
	       (flags & FLAG_PREFLUSH ? PREFLUSH : 0) | (flags & FLAG_READ_AHEAD ? READ_AHEAD : 0) |
	       (failed ? FAILED : 0);
}

// Hands a request out, or counts that there was no room for it.
INLINE void hand_out(struct totals *to, const struct ended *one)
{
	struct ended *record;

	if (!recording)
		return;
	record = reserve(&requests, sizeof(*record), 0);
	if (!record) {
		to->unrecorded += 1;
		return;
	}
	*record = *one;
	submit(record, NO_WAKE_UP);
}

SEC("tp_btf/block_rq_complete")
int request_ended(u64 *ctx)
{
	struct request *request = (void *)ctx[0];
	u32 bytes = ctx[2], ignored, class = class_of(request->cmd_flags), device;
	struct ended one = {};
	struct totals *to;
	struct issue *place;
	u64 now, from;

	if (class == NO_CLASS || (!bytes && class != FLUSH))
		return 0;
	device = device_of(request->q->disk);
	if (device == MOST_DEVICES)
		return 0;
	to = totals_of(device, class);
	if (!to)
		return 0;
	to->bytes += bytes;
	if (bytes < request->__data_len)
		return 0;
	now = now_ns();
	to->requests += 1;
	to->failed += (u8)ctx[1] != 0;
	from = arrived((u64)request->bio, &ignored);
	one.arrived_ns = from <= now ? from : 0;
	if (!from || from > now) {
		from = request->start_time_ns;
		if (class != FLUSH)
			to->unseen += 1;
	}
	if (from && from <= now)
		add(&to->queued, now - from);
	one.sector = request->__sector;
	one.bytes = request->__data_len;
	place = &issues[place_of(ctx[0])];
	from = place->ns;
	ORDERED();
	if (place->key == ctx[0] && from <= now) {
		add(&to->issued, now - from);
		one.issued_ns = from;
		one.sector = place->sector;
		one.bytes = place->bytes;
	}
	one.ended_ns = now;
	one.device = device;
	one.class = class;
	one.flags = flags_of(request->cmd_flags, (u8)ctx[1]);
	hand_out(to, &one);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int bio_ended(u64 *ctx)
{
	struct request_queue *queue = (void *)ctx[0];
	struct bio *bio = (void *)ctx[1];
	u32 bytes, class, device;
	struct ended one = {};
	struct totals *to;
	u64 now, from;

	// Requests are counted as such.
	if (queue->mq_ops)
		return 0;
	device = device_of(queue->disk);
	class = class_of(bio->bi_opf);
	if (device == MOST_DEVICES || class == NO_CLASS)
		return 0;
	from = arrived((u64)bio, &bytes);
	if (from && !bytes && (class == WRITE || class == FUA))
		class = FLUSH;
	to = totals_of(device, class);
	if (!to)
		return 0;
	now = now_ns();
	to->requests += 1;
	to->failed += bio->bi_status != 0;
	one.ended_ns = now;
	one.device = device;
	one.class = class;
	one.flags = flags_of(bio->bi_opf, bio->bi_status);
	if (!from || from > now) {
		to->unseen += 1;
		// Where it lay is not known any more: its own count has moved on.
		hand_out(to, &one);
		return 0;
	}
	to->bytes += bytes;
	add(&to->queued, now - from);
	one.arrived_ns = from;
	one.sector = arrivals[place_of((u64)bio)].sector;
	one.bytes = bytes;
	hand_out(to, &one);
	return 0;
}

char word[] SEC("license") = "Dual MIT/GPL";
