# SPDX-License-Identifier: GPL-3.0-or-later
"""All defaults and limits, with their units and the reason for each."""

from __future__ import annotations

# What limits the rate; `none` for an AQM in front of a slower link. And where the download
# is shaped: on what leaves towards the client, or on what arrives from the server.
SHAPERS = ("htb", "hfsc", "tbf", "cake", "none")
INGRESSES = ("lan", "ifb")

# A router that is this late is of no use at any rate that matters: a thousand full-sized
# packets a second.
MAX_WATCHDOG_LATENCY_NS = 1_000_000

# Of a lab that was given no seed.
LAB_SEED = 1

# Below 64 kbit/s one full-sized packet takes over 190 ms, longer than any probe
# timeout; above 40 Gbit/s HTB's 32-bit quantum arithmetic was never tried here.
MIN_RATE_MBPS = 0.064
MAX_RATE_MBPS = 40_000.0
# What hosts of the lab may be called, as a regular expression: namespaces, and parts of flows.
HOST_NAME = "[a-z][a-z0-9_]{0,13}"
# Transmit queues of a device in the lab: as many as home routers' cards have.
MOST_TX_QUEUES = 16
MAX_DELAY_MS = 10_000.0
# The way to a server may be as long as a probe's to the edge of the solar system and beyond:
# 7 days. Up to the limit above it is netem's, beyond it the lab's own delay line.
MAX_FAR_DELAY_MS = 7 * 24 * 3600 * 1000.0
# Jitter is drawn from 32 bits of ns.
MAX_JITTER_MS = 4_000.0

# The study's burst shaping: ceil as a factor of rate, and burst and cburst in bytes (tc
# reads 15KB as 15 x 1024).
BURST_CEIL_FACTOR = 1.6
BURST_BYTES = 15 * 1024
CBURST_BYTES = 30 * 1024

# TBF's burst: this much time at the rate where nothing else is given, and no less than two full
# frames; a second of it is as much as ISPs' policers let through at once (Flach et al., "An
# Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016). And three tiers
# of HTB: the most that EF gets, and what background gets when all want the rate, in percent;
# DSCPs as bytes of the IP header with the ECN bits zero: EF, CS6, AF42 as in sqm-scripts; CS1
# and LE (RFC 8622).
TBF_BURST_US, TBF_MIN_BURST_BYTES = 1000, 3028
MAX_TBF_BURST_MS = 1000.0
EF_PERCENT, BACKGROUND_PERCENT = 33, 20
EF_DSCPS, BACKGROUND_DSCPS = (0xB8, 0xC0, 0x90), (0x20, 0x04)

# Between latency probes of irtt and of ping.
IRTT_INTERVAL_S = 0.01
PING_INTERVAL_S = 0.2

# Addresses inside the lab: documentation prefixes (RFC 5737, RFC 3849), so that a
# packet that got out by mistake would go nowhere.
CLIENT_IPV4, SERVER_IPV4 = "192.0.2.2", "198.51.100.2"
CLIENT_IPV6, SERVER_IPV6 = "2001:db8:1::2", "2001:db8:2::2"

# The lab's second server, behind the first; see lab/guest/dest2.sh.
SERVER_DEST2_IPV4, DEST2_IPV4 = "203.0.113.1", "203.0.113.2"
SERVER_DEST2_IPV6, DEST2_IPV6 = "2001:db8:3::1", "2001:db8:3::2"

# A modem's drop-tail queue, in ms at its rate: what bloated home lines have.
MODEM_BUFFER_MS = 500.0

# Servers that the lab can run, see lab/guest/server.sh.
SERVERS = ("iperf3", "iperf3-flows", "irtt", "netserver", "ndt7")

# The NDT7 server of a run: this package's, or M-Lab's ndt-server; and how ours sends. M-Lab's uses
# BBR; before NDT7 it used Cubic, and Reno before that.
NDT7_SERVERS = ("own", "mlab")
NDT7_CCS = ("bbr", "cubic", "reno")
# M-Lab's NDT7 client has the same name as the Rust crate's. Under this one set-up keeps it
# beside that one, and the lab has it.
MLAB_NDT7_CLIENT = "ndt7-client-mlab"
# And its library for browsers, which is no program.
NDT7_JS = "ndt7-js"
CLOUDFLARE_JS = "cloudflare-speedtest.js"
# The script of LibreSpeed's page that does its test, which is the user's.
LIBRESPEED_WORKER = "speedtest_worker.js"

# Congestion control of the hosts where nothing else asks for one: Linux's own default. A
# new namespace takes over the one that the host was set to.
TCP_CONGESTION_CONTROL = "cubic"
# A value of tcp_ecn: accurate ECN (RFC 9768), in Linux since 6.18.
ACCECN = "accecn"

# Where the lab's server listens.
NDT7_PORT = 8080
NDT7_TLS_PORT = 4443
IPERF3_PORT = 5201
IPERF3_CROSS_PORT = 5202  # cross traffic has a server of its own: iperf3 serves one test at a time
# Of the test aqm_flows: one for each group of flows.
IPERF3_FLOW_PORTS = (5211, 5212, 5213, 5214, 5215, 5216, 5217, 5218)
# Cross traffic of other kinds: a call's irtt is not the probes', which the lab's cards look at.
CALL_PORT = 2113
FETCH_PORT = 8081
QUIC_PORT = 8443
NETPERF_PORT = 12865
# Speed tests over HTTP (measure/speedtests), and the others' own servers. nuttcp has a port for
# its control connection, and takes those from the next one on for data.
SPEEDTEST_PORT, SPEEDTEST_TLS_PORT = 8090, 8490
# The same number, over UDP.
SPEEDTEST_HTTP3_PORT = SPEEDTEST_TLS_PORT
NUTTCP_PORT = 5100
IPERF2_PORT = 5001
WEBRTC_PORT = 8189  # TCP, and UDP for the call itself
IRTT_PORT = 2112
# Kinds of keys of servers' own certificates. Every browser takes P-256. Signatures by it are of 70
# to 72 bytes, by chance, and by Ed25519 always of 64, so that handshakes are of one length; and no
# random number goes into them. Chromium refuses that; Go, rustls and OpenSSL's clients take it.
OWN_KEYS = P256, ED25519 = "p256", "ed25519"

# The lab's remaining addresses.
ROUTER_DOWN_IPV4, ROUTER_UP_IPV4 = "192.0.2.1", "198.51.100.1"
ROUTER_DOWN_IPV6, ROUTER_UP_IPV6 = "2001:db8:1::1", "2001:db8:2::1"

# Virtual wall clock at boot: a fixed moment, so that timestamps repeat
# (2026-01-01 00:00:00 UTC).
CLOCK_START_NS = 1_767_225_600 * 10**9

# Interrupt moderation of the hosts' network cards: the least time between two receive interrupts.
# 50 us are 20,000 interrupts a second, what Intel's drivers e1000e and igc (i225) allow under a
# load that is not bulk, and the fastest that igc takes by default (IGC_20K_ITR in igc_main.c).
# docs/lab.md compares with others.
HOST_MODERATION_US = 50
MOST_HOST_MODERATION_US = 10_000  # as igc's IGC_MAX_ITR_USECS

# Guest memory. Only what is touched is taken from the host. Half of it is what /tmp can
# hold, where captures lie: 6 million headers of 1 Gbit/s both ways with cross traffic.
GUEST_MEMORY_MB = 1536

# A run in virtual time is given this many wall seconds before it is taken for hung. The
# slowest cell measured (10 Gbit/s, loaded machine) stayed well below a tenth of it.
WALL_LIMIT_S = 900.0

# A run in real time, beyond the length that its test says it has. Starting servers and
# Flent takes seconds; the slowest tool is given up 30 s after its time.
REAL_TIME_MARGIN_S = 120.0
