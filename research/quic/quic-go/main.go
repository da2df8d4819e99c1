// SPDX-License-Identifier: GPL-3.0-or-later

// Bulk download over QUIC by quic-go.
//
//	stack server PORT            serves every client until it is killed
//	stack client HOST PORT S     downloads for S seconds, prints a line of JSON
//
// The server sends zeros for the seconds that the client asks for, then a line of JSON with its
// own smoothed round trips, which it reads every 10 ms.
package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
)

const alpn = "bulk"

func main() {
	if os.Args[1] == "server" {
		log.Fatal(serve(os.Args[2]))
	}
	if err := download(os.Args[2], os.Args[3], os.Args[4]); err != nil {
		log.Fatal(err)
	}
}

func serve(port string) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	listener, err := quic.ListenAddr("0.0.0.0:"+port, &tls.Config{
		Certificates: []tls.Certificate{certificate}, NextProtos: []string{alpn}}, nil)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			if err := send(connection); err != nil {
				log.Print(err)
			}
		}()
	}
}

// Sends zeros for the seconds that the client asks for, then the round trips.
func send(connection *quic.Conn) error {
	stream, err := connection.AcceptStream(context.Background())
	if err != nil {
		return err
	}
	text, err := io.ReadAll(stream)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return err
	}
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	found := make(chan []float64)
	go func() {
		var trips []float64
		for time.Now().Before(until) {
			time.Sleep(10 * time.Millisecond)
			trips = append(trips, connection.ConnectionStats().SmoothedRTT.Seconds()*1000)
		}
		found <- trips
	}()
	for block := make([]byte, 65536); time.Now().Before(until); {
		if _, err := stream.Write(block); err != nil {
			return err
		}
	}
	trips := <-found
	slices.Sort(trips)
	fmt.Fprintf(stream, "\n\"rtt_median_ms\": %.3f, \"rtt_p99_ms\": %.3f",
		trips[len(trips)/2], trips[len(trips)*99/100])
	return stream.Close()
}

func download(host, port, seconds string) error {
	connection, err := quic.DialAddr(context.Background(), net.JoinHostPort(host, port),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpn}}, nil)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(context.Background())
	if err != nil {
		return err
	}
	begin := time.Now()
	if _, err := stream.Write([]byte(seconds)); err != nil {
		return err
	}
	stream.Close()
	count, tail, block := 0, []byte{}, make([]byte, 65536)
	for {
		n, err := stream.Read(block)
		count += n
		tail = append(tail, block[:n]...)
		tail = tail[max(0, len(tail)-300):]
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	took := time.Since(begin).Seconds()
	fmt.Printf("{\"download_mbps\": %.3f, %s}\n", float64(count)*8e-6/took,
		tail[bytes.LastIndexByte(tail, '\n')+1:])
	return connection.CloseWithError(0, "")
}

func selfSigned() (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "server"},
		NotBefore: time.Now(), NotAfter: time.Now().Add(24 * time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, public, private)
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: private}, err
}
