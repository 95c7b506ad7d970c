//! Encrypted connections, with the TLS stack of the rest of the program.

use crate::store_url::Encryption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

/// Encrypts connections to a database.
#[derive(Clone)]
pub(crate) struct Tls(Option<Arc<ClientConfig>>);

impl Tls {
    /// The encryption that an address asks for.
    pub(crate) fn new(encryption: &Encryption) -> Result<Self, String> {
        let Encryption::Verified(authority) = encryption else {
            return Ok(Self(None));
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match authority {
            None => builder.with_platform_verifier().map_err(|error| {
                format!("the system's certificate authorities cannot be read: {error}")
            })?,
            Some(file) => {
                let cannot = |why: String| format!("sslrootcert {}: {why}", file.display());
                let mut roots = RootCertStore::empty();
                let all = CertificateDer::pem_file_iter(file);
                for one in all.map_err(|error| cannot(error.to_string()))? {
                    let one = one.map_err(|error| cannot(error.to_string()))?;
                    roots.add(one).map_err(|error| cannot(error.to_string()))?;
                }
                builder.with_root_certificates(roots)
            }
        };
        Ok(Self(Some(Arc::new(builder.with_no_client_auth()))))
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = EncryptedStream;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        let config = self.0.clone();
        let server = config.map(|config| {
            let name = ServerName::try_from(domain.to_owned()).map_err(io::Error::other)?;
            Ok::<_, io::Error>((TlsConnector::from(config), name))
        });
        Ok(Handshake(server.transpose()?))
    }
}

/// A connection that is about to be encrypted.
pub(crate) struct Handshake(Option<(TlsConnector, ServerName<'static>)>);

impl TlsConnect<Socket> for Handshake {
    type Stream = EncryptedStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let Some((connector, name)) = self.0 else {
                return Err(io::Error::other("this connection is not encrypted"));
            };
            connector.connect(name, stream).await.map(EncryptedStream)
        })
    }
}

/// An encrypted connection.
pub(crate) struct EncryptedStream(tokio_rustls::client::TlsStream<Socket>);

impl tokio_postgres::tls::TlsStream for EncryptedStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for EncryptedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for EncryptedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
