. ./tests/ssh/play.sh
export FLENT_AQM_HOOKS=$PWD/router_hooks
on() { c=$1; shift; sh router_hooks/on_router.sh $c testbed=ssh://root@203.0.113.1 "$@"; }
on begin token=abc holder=me@client "devices=down up"; echo $?
on begin token=abd holder=you@client "devices=down up"; echo $?
on status
ls -la /run/flent-aqm
on survey token=abc >/tmp/s; wc /tmp/s
on plan token=abc "txqueuelen down 1000" "tc qdisc add dev down root handle 3: pfifo"
ls -la /run/flent-aqm
FLENT_AQM_SSH_TOKEN=abc on apply aqm=fq_codel rate_down_mbps=10 rate_up_mbps=20; echo $?
FLENT_AQM_SSH_TOKEN=abd on apply aqm=fq_codel rate_down_mbps=10 rate_up_mbps=20; echo $?
FLENT_AQM_SSH_TOKEN=abc on read-back | head -c 300
on status
sleep 20
on status
sleep 40
on status
ip netns exec router tc qdisc
