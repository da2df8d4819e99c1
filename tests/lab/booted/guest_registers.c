/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether floating-point registers survive all that can happen around a system call: other
 * threads of the program run, a signal's handler changes them, a child begins with them.
 * Exits with 0 if so.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 20000

static volatile int wrong, handled;

static void fill(double with)
{
	asm volatile (
		"movq %0,%%xmm0; movq %0,%%xmm5; movq %0,%%xmm10; movq %0,%%xmm15"
		: : "r" (with) : "xmm0", "xmm5", "xmm10", "xmm15");
}

/* A system call between filling and reading, with nothing of the compiler's in between */
static int survives(double with, long call)
{
	double found[4];
	long ret = call;

	asm volatile (
		"movq %[with],%%xmm0; movq %[with],%%xmm5; movq %[with],%%xmm10;"
		"movq %[with],%%xmm15; syscall;"
		"movq %%xmm0,%[a]; movq %%xmm5,%[b]; movq %%xmm10,%[c]; movq %%xmm15,%[d]"
		: "+a" (ret), [a] "=m" (found[0]), [b] "=m" (found[1]), [c] "=m" (found[2]),
		  [d] "=m" (found[3])
		: [with] "r" (with), "D" (0), "S" (0)
		: "rcx", "r11", "xmm0", "xmm5", "xmm10", "xmm15", "memory");
	for (int i = 0; i < 4; i++)
		if (found[i] != with)
			return 0;
	if (call == SYS_fork && ret == 0)
		_exit(0);
	if (call == SYS_fork) {
		int status;

		return waitpid(ret, &status, 0) == ret && status == 0;
	}
	return 1;
}

static void handler(int signal)
{
	handled++;
	fill(-1.0);
}

static void *thread(void *number)
{
	for (long i = 0; i < ROUNDS; i++)
		if (!survives(i + 0.125 * (long) number, i % 2 ? SYS_sched_yield : SYS_getppid))
			wrong++;
	return NULL;
}

int main(void)
{
	struct itimerval often = { { 0, 100 }, { 0, 100 } };
	pthread_t threads[THREADS];

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread, (void *) i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 20; i++)
		wrong += !survives(i + 0.5, SYS_pause);
	setitimer(ITIMER_REAL, &(struct itimerval) { 0 }, NULL);
	for (int i = 0; i < 20; i++)
		wrong += !survives(i + 0.25, SYS_fork);
	return wrong || handled < 20;
}
