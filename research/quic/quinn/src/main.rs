// SPDX-License-Identifier: GPL-3.0-or-later

//! Bulk download over QUIC by quinn.
//!
//!     stack server PORT            serves every client until it is killed
//!     stack client HOST PORT S     downloads for S seconds, prints a line of JSON
//!
//! The server sends zeros for the seconds that the client asks for, then a line of JSON with its
//! own smoothed round trips, which it reads every 10 ms.

use std::{
    error::Error,
    net::ToSocketAddrs,
    sync::Arc,
    time::{Duration, Instant},
};

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::{
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime},
    DigitallySignedStruct, SignatureScheme,
};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;
const ALPN: &[u8] = b"bulk";

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    match words[1].as_str() {
        "server" => serve(words[2].parse()?).await,
        _ => download(&words[2], words[3].parse()?, &words[4]).await,
    }
}

async fn serve(port: u16) -> Result<()> {
    let signed = rcgen::generate_simple_self_signed(vec!["server".into()])?;
    let key = PrivateKeyDer::try_from(signed.key_pair.serialize_der())?;
    let mut tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)?;
    tls.alpn_protocols = vec![ALPN.into()];
    let config = quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    let endpoint = quinn::Endpoint::server(config, ([0, 0, 0, 0], port).into())?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Err(fault) = send(incoming).await {
                eprintln!("{fault}");
            }
        });
    }
    Ok(())
}

/// Sends zeros for the seconds that the client asks for, then the round trips.
async fn send(incoming: quinn::Incoming) -> Result<()> {
    let connection = incoming.await?;
    let (mut stream, mut request) = connection.accept_bi().await?;
    let seconds: f64 = String::from_utf8(request.read_to_end(100).await?)?.parse()?;
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let watched = connection.clone();
    let watching = tokio::spawn(async move {
        let mut trips_ms = Vec::new();
        while Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
            trips_ms.push(watched.rtt().as_secs_f64() * 1000.0);
        }
        trips_ms
    });
    let block = vec![0; 65536];
    while Instant::now() < until {
        stream.write_all(&block).await?;
    }
    let mut trips_ms = watching.await?;
    trips_ms.sort_by(f64::total_cmp);
    let (median, p99) = (trips_ms[trips_ms.len() / 2], trips_ms[trips_ms.len() * 99 / 100]);
    let line = format!("\n\"rtt_median_ms\": {median:.3}, \"rtt_p99_ms\": {p99:.3}");
    stream.write_all(line.as_bytes()).await?;
    stream.finish()?;
    connection.closed().await;
    Ok(())
}

async fn download(host: &str, port: u16, seconds: &str) -> Result<()> {
    let mut tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate))
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.into()];
    let address = (host, port)
        .to_socket_addrs()?
        .find(|one| one.is_ipv4())
        .ok_or("the server has no IPv4 address")?;
    let mut endpoint = quinn::Endpoint::client(([0, 0, 0, 0], 0).into())?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(
        QuicClientConfig::try_from(tls)?,
    )));
    let connection = endpoint.connect(address, "server")?.await?;
    let (mut request, mut stream) = connection.open_bi().await?;
    let begin = Instant::now();
    request.write_all(seconds.as_bytes()).await?;
    request.finish()?;
    let (mut count, mut tail, mut block) = (0, Vec::new(), vec![0; 65536]);
    while let Some(n) = stream.read(&mut block).await? {
        count += n;
        tail.extend_from_slice(&block[..n]);
        tail.drain(..tail.len().saturating_sub(300));
    }
    let took_s = begin.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&tail);
    println!(
        "{{\"download_mbps\": {:.3}, {}}}",
        count as f64 * 8e-6 / took_s,
        text.rsplit('\n').next().unwrap_or_default()
    );
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

/// Accepts every certificate: the server's is made anew for each run.
#[derive(Debug)]
struct AnyCertificate;

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
