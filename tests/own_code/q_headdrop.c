/* SPDX-License-Identifier: GPL-2.0-only */
/* headdrop's options for tc: limit PACKETS. */
#include <stdio.h>
#include <string.h>

#include "utils.h"
#include "tc_util.h"

enum { TCA_HEADDROP_UNSPEC, TCA_HEADDROP_LIMIT, __TCA_HEADDROP_MAX };
#define TCA_HEADDROP_MAX (__TCA_HEADDROP_MAX - 1)

static int headdrop_parse_opt(const struct qdisc_util *qu, int argc, char **argv,
			      struct nlmsghdr *n, const char *dev)
{
	struct rtattr *tail = addattr_nest(n, 1024, TCA_OPTIONS);
	__u32 limit;

	for (; argc > 0; argc--, argv++) {
		if (strcmp(*argv, "limit") != 0) {
			fprintf(stderr, "What is \"%s\"? Usage: ... headdrop [ limit PACKETS ]\n", *argv);
			return -1;
		}
		NEXT_ARG();
		if (get_u32(&limit, *argv, 0)) {
			fprintf(stderr, "Illegal \"limit\"\n");
			return -1;
		}
		addattr32(n, 1024, TCA_HEADDROP_LIMIT, limit);
	}
	addattr_nest_end(n, tail);
	return 0;
}

static int headdrop_print_opt(const struct qdisc_util *qu, FILE *f, struct rtattr *opt)
{
	struct rtattr *tb[TCA_HEADDROP_MAX + 1];

	if (opt == NULL)
		return 0;
	parse_rtattr_nested(tb, TCA_HEADDROP_MAX, opt);
	if (tb[TCA_HEADDROP_LIMIT])
		print_uint(PRINT_ANY, "limit", "limit %up ", rta_getattr_u32(tb[TCA_HEADDROP_LIMIT]));
	return 0;
}

struct qdisc_util headdrop_qdisc_util = {
	.id		= "headdrop",
	.parse_qopt	= headdrop_parse_opt,
	.print_qopt	= headdrop_print_opt,
};
