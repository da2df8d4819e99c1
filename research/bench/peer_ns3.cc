// SPDX-License-Identifier: GPL-3.0-or-later
// The peer of `make bench`, on ns-3: client, router, server; one Cubic flow through FqCoDel.
//
//     peer_ns3 RATE_MBPS SECONDS
//
// Prints JSON: goodput_mbps at the server; dropped, packets by FqCoDel; wall_s and cpu_s of
// the simulation without its set-up.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

using namespace ns3;

static NetDeviceContainer Connect(Ptr<Node> one, Ptr<Node> other, double rateMbps)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(std::to_string(rateMbps) + "Mbps"));
    link.SetChannelAttribute("Delay", StringValue("5us"));
    // One packet below the queueing discipline, as with HTB.
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    return link.Install(one, other);
}

int main(int argc, char **argv)
{
    const double rateMbps = argc == 3 ? atof(argv[1]) : 0, seconds = argc == 3 ? atof(argv[2]) : 0;
    if (rateMbps <= 0 || seconds <= 0)
    {
        fprintf(stderr, "usage: peer_ns3 RATE_MBPS SECONDS\n");
        return 2;
    }
    const uint16_t port = 5001;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(6 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));

    NodeContainer nodes(3); // client, router, server
    InternetStackHelper().Install(nodes);
    // The client's own link is faster, so that the queue is the router's.
    NetDeviceContainer edge = Connect(nodes.Get(0), nodes.Get(1), 10 * rateMbps);
    NetDeviceContainer bottleneck = Connect(nodes.Get(1), nodes.Get(2), rateMbps);
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
    QueueDiscContainer queues = control.Install(bottleneck);
    Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(edge);
    Ipv4InterfaceContainer far = Ipv4AddressHelper("10.0.1.0", "255.255.255.0").Assign(bottleneck);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    Ptr<PacketSink> sink = DynamicCast<PacketSink>(sinks.Install(nodes.Get(2)).Get(0));
    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(1), port));
    source.Install(nodes.Get(0)); // its default is to send without end
    Simulator::Stop(Seconds(seconds));

    const auto began = std::chrono::steady_clock::now();
    const clock_t cpu = clock();
    Simulator::Run();
    const double cpuS = double(clock() - cpu) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    printf("{\"goodput_mbps\": %.3f, \"dropped\": %u, \"wall_s\": %.4f, \"cpu_s\": %.4f}\n",
           sink->GetTotalRx() * 8e-6 / seconds, queues.Get(0)->GetStats().nTotalDroppedPackets,
           wall.count(), cpuS);
    Simulator::Destroy();
}
