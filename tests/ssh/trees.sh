t() { ip netns exec router tc "$@"; }
t qdisc del dev up root; t qdisc del dev down root
ip -n router link add ifb4up type ifb; ip -n router link set ifb4up up
t qdisc add dev up root handle 1: htb default 12
t class add dev up parent 1: classid 1:1 htb rate 20mbit
t class add dev up parent 1:1 classid 1:11 htb rate 7mbit ceil 20mbit prio 1 burst 15k cburst 15k
t class add dev up parent 1:1 classid 1:12 htb rate 13mbit ceil 20mbit prio 2 quantum 3000
t qdisc add dev up parent 1:11 handle 110: fq_codel limit 1001 noecn target 8ms
t qdisc add dev up parent 1:12 handle 120: sfq perturb 10
t filter add dev up parent 1:0 protocol ip prio 1 u32 match ip tos 0xb8 0xfc flowid 1:11
t filter add dev up parent 1:0 protocol ip prio 2 handle 5 fw classid 1:12
t filter add dev up parent 1:0 protocol ipv6 prio 3 u32 match ip6 dport 53 0xffff classid 1:11
t qdisc add dev up handle ffff: ingress
t filter add dev up parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 action mirred egress redirect dev ifb4up
t qdisc add dev ifb4up root cake bandwidth 50mbit besteffort nat ingress wash
t qdisc add dev down root handle 1: cake bandwidth 40mbit diffserv4 dual-dsthost rtt 50ms overhead 18 mpu 64 ack-filter
t qdisc add dev down clsact
t filter add dev down ingress matchall action mirred egress redirect dev ifb4up
t filter add dev down egress protocol ip prio 7 flower dst_port 80 ip_proto tcp action drop
