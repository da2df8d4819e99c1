// SPDX-License-Identifier: GPL-3.0-or-later
/* How often the basic blocks of instrumented files have run: the compiler's
 * -fsanitize-coverage=trace-pc calls __sanitizer_cov_trace_pc() at the beginning of each. Only in
 * kernels that `flent-aqm verdict` builds beside the one under test: setup/kernel/coverage.py.
 *
 * /proc/lab_coverage has a line for each block that ran: the address after its call, in
 * hexadecimal, and how often it ran. Writing to it sets all counts to 0.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/hash.h>
#include <linux/irqflags.h>
#include <linux/delay.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

/* Places of a hash table; sixty instrumented files have some ten thousand blocks. */
#define BITS 17
static struct {
	unsigned long at;
	unsigned long count;
} ran[1 << BITS];

void __sanitizer_cov_trace_pc(void);

void notrace __sanitizer_cov_trace_pc(void)
{
	unsigned long at = (unsigned long)__builtin_return_address(0);
	unsigned int place = hash_long(at, BITS), tries;

	for (tries = 0; tries < 1 << BITS; tries++, place = (place + 1) % (1 << BITS)) {
		if (!ran[place].at)
			ran[place].at = at;
		if (ran[place].at == at) {
			ran[place].count++;
			return;
		}
	}
}

/* Functions that may sleep, as instrumented queues and congestion controls call them: coverage.py
 * renames the calls. A queue's enqueue and dequeue must not sleep. No allocation of a run does, as
 * there is memory, so nothing else would show the mistake. The names have "report" for the host,
 * which passes over such functions when it looks for the place of a fault.
 */
static void report_sleep(const char *name)
{
	static bool told;

	if (told || !(in_interrupt() || irqs_disabled()))
		return;
	told = true;
	pr_warn("BUG: %s may sleep where it must not\n", name);
	dump_stack();
}

void *report_kmalloc_cache(struct kmem_cache *cache, gfp_t flags, size_t size);
void *report_kmalloc_cache(struct kmem_cache *cache, gfp_t flags, size_t size)
{
	if (gfpflags_allow_blocking(flags))
		report_sleep("kmalloc");
	return __kmalloc_cache_noprof(cache, flags, size);
}

/* Since 7.3 an allocation may have a token. */
#ifdef DECL_TOKEN_PARAMS
#define SIZE DECL_TOKEN_PARAMS(size, token)
#define PASS_SIZE PASS_TOKEN_PARAMS(size, token)
#else
#define SIZE size_t size
#define PASS_SIZE size
#endif
void *report_kmalloc(SIZE, gfp_t flags);
void *report_kmalloc(SIZE, gfp_t flags)
{
	if (gfpflags_allow_blocking(flags))
		report_sleep("kmalloc");
	return __kmalloc_noprof(PASS_SIZE, flags);
}

struct sk_buff *report_alloc_skb(unsigned int size, gfp_t gfp, int flags, int node);
struct sk_buff *report_alloc_skb(unsigned int size, gfp_t gfp, int flags, int node)
{
	if (gfpflags_allow_blocking(gfp))
		report_sleep("alloc_skb");
	return __alloc_skb(size, gfp, flags, node);
}

void report_msleep(unsigned int ms);
void report_msleep(unsigned int ms)
{
	report_sleep("msleep");
	msleep(ms);
}

static int lab_coverage_show(struct seq_file *file, void *unused)
{
	unsigned int place;

	for (place = 0; place < 1 << BITS; place++)
		if (ran[place].count)
			seq_printf(file, "%lx %lu\n", ran[place].at, ran[place].count);
	return 0;
}

static int lab_coverage_open(struct inode *inode, struct file *file)
{
	return single_open(file, lab_coverage_show, NULL);
}

static ssize_t lab_coverage_write(struct file *file, const char __user *text, size_t size,
				  loff_t *at)
{
	memset(ran, 0, sizeof(ran));
	return size;
}

static const struct proc_ops lab_coverage_ops = {
	.proc_open = lab_coverage_open,
	.proc_read = seq_read,
	.proc_write = lab_coverage_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

static int __init lab_coverage_init(void)
{
	proc_create("lab_coverage", 0600, NULL, &lab_coverage_ops);
	return 0;
}
device_initcall(lab_coverage_init);
