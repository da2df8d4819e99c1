# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
# Functions of hosts with servers, read by server.sh, dest2.sh and node.sh.

# Half of the delay applies to leaving packets, half to arriving ones. netem can delay only
# packets that leave a device, so arriving ones go through an IFB device. The delay is at the
# server, never at the router, whose queue is measured. The limit is enough for one second at
# 10 Gbit/s.
no_delay() {
    echo "a base delay needs sch_netem, ifb, cls_matchall and act_mirred in the kernel"
    exit 1
}
delay_of() { # device, half of the delay in us
    [ "$2" -gt 0 ] || return 0
    ip -batch - <<END || no_delay
link add ifb0 type ifb
link set dev ifb0 up
END
    if is_far "$2"; then
        tc -batch - <<END || no_delay
qdisc add dev $1 clsact
filter add dev $1 ingress matchall action mirred egress redirect dev ifb0
END
        plays_schedule "$1 delay_ns=${2}000" "ifb0 delay_ns=${2}000"
        very_patient
        return
    fi
    tc -batch - <<END || no_delay
qdisc add dev $1 root netem delay ${2}us limit 1000000
qdisc add dev $1 clsact
filter add dev $1 ingress matchall action mirred egress redirect dev ifb0
qdisc add dev ifb0 root netem delay ${2}us limit 1000000
END
}

# In JSON mode the client also gets the server's side of each interval.
serve_iperf3() {
    for port in "$@"; do
        iperf3 --server --json --interval 0.2 --port "$port" >/dev/null 2>&1 &
    done
}

# This package's: what, and its options.
serve() {
    "$PYTHON" -P -m flent_aqm.measure.serve "$@" >"/run/serve-$server.log" 2>&1 &
}

start_servers() {
    for server in $SERVERS; do
        case $server in
        iperf3) serve_iperf3 "$IPERF3_PORT" "$IPERF3_CROSS_PORT" ;;
        iperf3-flows)
            # shellcheck disable=SC2086  # several words
            serve_iperf3 $IPERF3_FLOW_PORTS
            ;;
        irtt) irtt server -d 0 -i 0 >/run/irtt.log 2>&1 & ;;
        irtt-call) irtt server -b ":$CALL_PORT" -d 0 -i 0 >/run/irtt-call.log 2>&1 & ;;
        fetch) serve http --no-tls --http-port "$FETCH_PORT" ;;
        quic) "$PYTHON" -P -m flent_aqm.measure.cross.quic "$QUIC_PORT" >/run/quic.log 2>&1 & ;;
        netserver) netserver -D >/dev/null 2>&1 & ;;
        ndt7)
            serve ndt7 --ndt7-port "$NDT7_PORT" --ndt7-tls-port "$NDT7_TLS_PORT" \
                --own-key "${TLS_KEY:-p256}"
            ;;
        # starts faster, as it makes no certificate
        ndt7-cleartext) serve ndt7 --no-tls --ndt7-port "$NDT7_PORT" ;;
        speedtest)
            serve http --http-port "$SPEEDTEST_PORT" --http-tls-port "$SPEEDTEST_TLS_PORT" \
                --own-key "${TLS_KEY:-p256}"
            ;;
        speedtest-cleartext) serve http --no-tls --http-port "$SPEEDTEST_PORT" ;;
        speedtest-http3) serve http3 --http3-port "$SPEEDTEST_HTTP3_PORT" ;;
        webrtc) serve webrtc --webrtc-port "$WEBRTC_PORT" ;;
        nuttcp) nuttcp -S --nofork -P "$NUTTCP_PORT" >/run/nuttcp.log 2>&1 & ;;
        iperf2) iperf -s -e -p "$IPERF2_PORT" >/run/iperf2.log 2>&1 & ;;
        msak) # It writes its records to -datadir, and serves its metrics on loopback.
            mkdir -p /run/msak
            msak-server -ws_addr ":$MSAK_PORT" -datadir /run/msak -latency_addr 127.0.0.1:0 \
                -prometheusx.listen-address 127.0.0.1:0 >/run/msak.log 2>&1 &
            ;;
        ethr) ethr -s -no -port "$ETHR_PORT" >/run/ethr.log 2>&1 & ;;
        crusader) crusader serve --port "$CRUSADER_PORT" >/run/crusader.log 2>&1 & ;;
        ndt-server | ndt-server-cleartext)
            # M-Lab's server, which writes its records to -datadir.
            mkdir -p /run/ndt-server && cd /run/ndt-server || exit
            set --
            if [ "$server" = ndt-server ]; then
                # It doesn't make a certificate.
                "$PYTHON" -P -m flent_aqm.measure.serve.certificate pem "${TLS_KEY:-p256}" || exit
                set -- -ndt7_addr ":$NDT7_TLS_PORT" -cert pem -key pem
            fi
            "$NDT_SERVER" -ndt7_addr_cleartext ":$NDT7_PORT" -datadir /run/ndt-server "$@" \
                >/run/ndt7.log 2>&1 &
            # The user's program may not run here, so check that it listens.
            sleep 1
            ss -Hltn "sport = :$NDT7_PORT" | grep -q . || {
                echo "flent-aqm-guest: $NDT_SERVER doesn't serve: $(tail -n 1 /run/ndt7.log)"
                exit 1
            }
            ;;
        *)
            echo "unknown server: $server" >&2
            exit 1
            ;;
        esac
    done
}
