//! TLS 1.3 on both sides: each shows a certificate of the same authority.

use std::sync::Arc;

use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore, ServerConfig, crypto};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::access::Access;

/// HTTP/2, by its name in TLS.
const PROTOCOL: &[u8] = b"h2";

fn provider() -> Arc<crypto::CryptoProvider> {
    Arc::new(crypto::ring::default_provider())
}

fn roots(access: &Access) -> Result<Arc<RootCertStore>, Error> {
    let mut roots = RootCertStore::empty();
    for certificate in &access.authorities {
        roots.add(certificate.clone())?;
    }
    Ok(Arc::new(roots))
}

/// Accepts runs whose certificate the authority has signed.
pub(crate) fn acceptor(access: &Access) -> Result<TlsAcceptor, Error> {
    let verifier = WebPkiClientVerifier::builder_with_provider(roots(access)?, provider()).build();
    let verifier = verifier.map_err(|error| Error::General(error.to_string()))?;
    let builder = ServerConfig::builder_with_provider(provider());
    let mut config = builder
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(verifier)
        .with_single_cert(access.chain.clone(), access.key.clone_key())?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // A connection lasts as long as a run.
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Connects to hosts whose certificate the authority has signed.
pub(crate) fn connector(access: &Access) -> Result<TlsConnector, Error> {
    let builder = ClientConfig::builder_with_provider(provider());
    let mut config = builder
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots(access)?)
        .with_client_auth_cert(access.chain.clone(), access.key.clone_key())?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
