# SPDX-License-Identifier: GPL-3.0-or-later
"""Defines defaults and limits of settings, with their units and the reason for each."""

from __future__ import annotations

# Shapers, which limit the rate. `none` is for an AQM in front of a slower link.
# Ingresses: where the download is shaped, as it leaves towards the client (lan), or as it arrives
# from the server (ifb).
SHAPERS = ("htb", "hfsc", "tbf", "cake", "none")
INGRESSES = ("lan", "ifb")

# Largest timer latency of a router's qdiscs. A router with more can't send even a thousand
# full-sized packets a second.
MAX_WATCHDOG_LATENCY_NS = 1_000_000

# Seed of a lab that was given none.
LAB_SEED = 1

# Below 64 kbit/s one full-sized packet takes over 190 ms, longer than any probe
# timeout; above 40 Gbit/s HTB's 32-bit quantum arithmetic was never tried here.
MIN_RATE_MBPS = 0.064
MAX_RATE_MBPS = 40_000.0
# Regular expression for names of hosts of the lab, which are names of namespaces and parts of the
# test parameter `flows`.
HOST_NAME = "[a-z][a-z0-9_]{0,13}"
# Largest number of transmit queues of a device in the lab: as many as home routers' cards have.
MOST_TX_QUEUES = 16
MAX_DELAY_MS = 10_000.0
# Largest base delay: 7 days, longer than a signal takes to leave the solar system. Up to
# MAX_DELAY_MS netem makes the delay, beyond it the lab's own delay line.
MAX_FAR_DELAY_MS = 7 * 24 * 3600 * 1000.0
# Jitter is drawn from 32 bits of ns.
MAX_JITTER_MS = 4_000.0

# The study's burst shaping: ceil as a factor of rate, and burst and cburst in bytes (tc
# reads 15KB as 15 x 1024).
BURST_CEIL_FACTOR = 1.6
BURST_BYTES = 15 * 1024
CBURST_BYTES = 30 * 1024

# TBF's default burst, as time at the rate, and the least burst, which is two full frames. The
# largest burst is a second, which is as much as ISPs' policers let through at once (Flach et al.,
# "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016).
TBF_BURST_US, TBF_MIN_BURST_BYTES = 1000, 3028
MAX_TBF_BURST_MS = 1000.0

# Three tiers of HTB: the largest share of EF, and the share of background when all tiers are busy,
# in percent. DSCPs are bytes of the IP header with the ECN bits zero: EF, CS6 and AF42 as in
# sqm-scripts, CS1 and LE (RFC 8622).
EF_PERCENT, BACKGROUND_PERCENT = 33, 20
EF_DSCPS, BACKGROUND_DSCPS = (0xB8, 0xC0, 0x90), (0x20, 0x04)

# Time between two latency probes of irtt and of ping.
IRTT_INTERVAL_S = 0.01
PING_INTERVAL_S = 0.2

# Addresses inside the lab. Their prefixes are for documentation (RFC 5737, RFC 3849), so that a
# packet that left the lab by mistake would go nowhere.
CLIENT_IPV4, SERVER_IPV4 = "192.0.2.2", "198.51.100.2"
CLIENT_IPV6, SERVER_IPV6 = "2001:db8:1::2", "2001:db8:2::2"

# The lab's second server, behind the first; see lab/guest/dest2.sh.
SERVER_DEST2_IPV4, DEST2_IPV4 = "203.0.113.1", "203.0.113.2"
SERVER_DEST2_IPV6, DEST2_IPV6 = "2001:db8:3::1", "2001:db8:3::2"

# Length of a modem's drop-tail queue, as time at its rate: as long as on bloated home lines.
MODEM_BUFFER_MS = 500.0

# Servers that the lab can run, see lab/guest/server.sh.
SERVERS = ("iperf3", "iperf3-flows", "irtt", "netserver", "ndt7")

# NDT7 servers that a run can use: this package's, or M-Lab's ndt-server. Congestion controls that
# this package's can use. M-Lab's server uses BBR. Before NDT7 it used Cubic, and Reno before that.
NDT7_SERVERS = ("own", "mlab")
NDT7_CCS = ("bbr", "cubic", "reno")
# Name of M-Lab's NDT7 client in set-up's cache and in the lab, because its own name is that of the
# Rust crate's client.
MLAB_NDT7_CLIENT = "ndt7-client-mlab"
# Names of scripts for browsers: M-Lab's for NDT7, and Cloudflare's.
NDT7_JS = "ndt7-js"
CLOUDFLARE_JS = "cloudflare-speedtest.js"
# Name of the script of LibreSpeed's page that does its test. The user provides it.
LIBRESPEED_WORKER = "speedtest_worker.js"

# Congestion control of the hosts if a test doesn't request another: Linux's own default. It is set
# because a new namespace has the host's.
TCP_CONGESTION_CONTROL = "cubic"
# Value of the key tcp_ecn for accurate ECN (RFC 9768), in Linux since 6.18.
ACCECN = "accecn"

# Ports on which the lab's servers listen.
NDT7_PORT = 8080
NDT7_TLS_PORT = 4443
IPERF3_PORT = 5201
IPERF3_CROSS_PORT = 5202  # cross traffic has a server of its own: iperf3 serves one test at a time
# Ports for the test aqm_flows, one for each group of flows.
IPERF3_FLOW_PORTS = (5211, 5212, 5213, 5214, 5215, 5216, 5217, 5218)
# Ports for other kinds of cross traffic. A call has its own irtt port, because the lab's network
# cards take packets of the other irtt port for probes.
CALL_PORT = 2113
FETCH_PORT = 8081
QUIC_PORT = 8443
NETPERF_PORT = 12865
# Ports for speed tests over HTTP, and for other speed tests' own servers. nuttcp uses its port for
# the control connection, and the following ports for data.
SPEEDTEST_PORT, SPEEDTEST_TLS_PORT = 8090, 8490
# UDP port of HTTP/3, with the same number as the TCP port for TLS.
SPEEDTEST_HTTP3_PORT = SPEEDTEST_TLS_PORT
NUTTCP_PORT = 5100
IPERF2_PORT = 5001
WEBRTC_PORT = 8189  # TCP, and UDP for the call itself
IRTT_PORT = 2112
# Kinds of keys of servers' own certificates. Every browser accepts P-256, whose signatures have 70
# to 72 bytes, by chance. Ed25519's always have 64 bytes and need no random number, so that all
# handshakes have the same length. Chromium refuses Ed25519; Go, rustls and OpenSSL's clients accept
# it.
OWN_KEYS = P256, ED25519 = "p256", "ed25519"

# The lab's remaining addresses.
ROUTER_DOWN_IPV4, ROUTER_UP_IPV4 = "192.0.2.1", "198.51.100.1"
ROUTER_DOWN_IPV6, ROUTER_UP_IPV6 = "2001:db8:1::1", "2001:db8:2::1"

# Virtual wall clock at boot, 2026-01-01 00:00:00 UTC. It is fixed, so that timestamps repeat.
CLOCK_START_NS = 1_767_225_600 * 10**9

# Interrupt moderation of the hosts' network cards: the least time between two receive interrupts.
# 50 us are 20,000 interrupts a second, what Intel's drivers e1000e and igc (i225) allow under a
# load that is not bulk, and the fastest that igc takes by default (IGC_20K_ITR in igc_main.c).
# docs/lab.md compares with others.
HOST_MODERATION_US = 50
MOST_HOST_MODERATION_US = 10_000  # as igc's IGC_MAX_ITR_USECS

# Memory of the guest. The host only provides the pages that the guest uses. /tmp, which contains
# captures, can use half of it: 6 million packet headers of 1 Gbit/s in both directions with cross
# traffic.
GUEST_MEMORY_MB = 1536
# Address space that the lab's kernel takes: the guest's memory, and its own.
GUEST_ADDRESSES_MIB = GUEST_MEMORY_MB + 200

# A run in virtual time that takes more wall seconds counts as hung. The slowest measured cell
# (10 Gbit/s, loaded machine) took well below a tenth of that.
WALL_LIMIT_S = 900.0

# Time that a run in real time may take in addition to the length of its test. Starting servers and
# Flent takes seconds, and the slowest tool is ended 30 s after its time.
REAL_TIME_MARGIN_S = 120.0
# Names of the files in the folder environment.PROGRAM_OUTPUT: outputs and exit status of a recorded
# command of the user.
CLIENT_STDOUT, CLIENT_STDERR, CLIENT_STATUS = "client-stdout", "client-stderr", "client-status"
# Of one that the test stopped, such as after its longest time, or that ended with status 0:
# statuses of the servers that had ended by then, a file name a line.
CLIENT_STOPPED = "client-stopped"
