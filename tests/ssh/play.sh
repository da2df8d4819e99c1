set -u
# mgmt link
ip link add mgmt type veth peer name mgmt netns router
ip addr add 203.0.113.2/24 dev mgmt; ip link set mgmt up
ip -n router addr add 203.0.113.1/24 dev mgmt; ip -n router link set mgmt up
mkdir -p /run/sshd /run/keys /run/home/.ssh; chmod 700 /run/home /run/home/.ssh
sed 's,^root:.*,root:x:0:0:root:/run/home:/bin/sh,' /etc/passwd > /run/keys/passwd; mount --bind /run/keys/passwd /etc/passwd
ssh-keygen -q -t ed25519 -N '' -f /run/home/.ssh/id_ed25519
ssh-keygen -q -t ed25519 -N '' -f /run/keys/host
cp /run/home/.ssh/id_ed25519.pub /run/home/.ssh/authorized_keys
echo "203.0.113.1 $(cut -d' ' -f1,2 /run/keys/host.pub)" > /run/home/.ssh/known_hosts
ip netns exec router /usr/sbin/sshd -o PidFile=/run/sshd.pid -h /run/keys/host -f /dev/null -o UsePAM=no -o StrictModes=no -E /run/sshd.log
