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
