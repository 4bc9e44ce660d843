//! TLS of remote stores: which certificate authorities are trusted, and what is checked.

use std::{fs::File, io::BufReader, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _},
};

use super::credentials::Credentials;
use crate::error::{Error, Result};

/// The variables that name a file of certificate authorities, which are trusted in addition.
const AUTHORITY_FILES: [&str; 2] = ["AWS_CA_BUNDLE", "SSL_CERT_FILE"];

/// What is checked of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing: the connection is only encrypted.
    None,
    /// That a trusted authority issued it.
    Authority,
    /// That a trusted authority issued it, for the host.
    Full,
}

/// Returns the trusted authorities: the public ones and, where the environment may be used, those of the system and of the
/// files that it names.
pub(super) fn roots(credentials: &Credentials) -> Result<RootCertStore> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Credentials::Environment(_) = credentials {
        // What the system has beside it is no reason to fail.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    for variable in AUTHORITY_FILES {
        if let Some(path) = credentials.variable(variable) {
            add_file(&mut roots, path)?;
        }
    }
    Ok(roots)
}

/// Adds the authorities of a file in PEM form.
pub(super) fn add_file(roots: &mut RootCertStore, path: &str) -> Result<()> {
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| unusable(path, &error))?;
    }
    Ok(())
}

/// Reads the certificates of a file in PEM form.
pub(super) fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>> {
    let file = File::open(path).map_err(|error| unusable(path, &error))?;
    let read: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_reader_iter(BufReader::new(file)).collect();
    let certificates = read.map_err(|error| unusable(path, &error))?;
    if certificates.is_empty() {
        return Err(unusable(path, &"it has none"));
    }
    Ok(certificates)
}

/// Reads the private key of a file in PEM form.
pub(super) fn private_key(path: &str) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_file(path)
        .map_err(|error| Error::invalid(format!("the private key in {path} cannot be used: {error}")))
}

fn unusable(path: &str, reason: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("the certificates in {path} cannot be used: {reason}"))
}

/// Returns the configuration of a client without a certificate of its own.
pub(super) fn client_config(roots: &RootCertStore, check: Check) -> Result<ClientConfig> {
    Ok(builder(roots, check)?.with_no_client_auth())
}

/// Returns the configuration of a client with a certificate of its own.
pub(super) fn client_config_with_certificate(
    roots: &RootCertStore,
    check: Check,
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ClientConfig> {
    builder(roots, check)?
        .with_client_auth_cert(certificates, key)
        .map_err(|error| Error::invalid(format!("the certificate of the client cannot be used: {error}")))
}

fn builder(
    roots: &RootCertStore,
    check: Check,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: &dyn std::fmt::Display| Error::internal(format!("configuring TLS: {error}"));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let roots = Arc::new(roots.clone());
    if check == Check::Full {
        return Ok(builder.with_root_certificates(roots));
    }
    let inner = match check {
        Check::None => None,
        _ => Some(
            WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
                .build()
                .map_err(|error| failed(&error))?,
        ),
    };
    let verifier = Arc::new(Lenient { inner, provider });
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier))
}

/// Checks less of a certificate than that it is the host's.
#[derive(Debug)]
struct Lenient {
    /// Checks the authority; `None` when nothing is checked.
    inner: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else {
            return Ok(ServerCertVerified::assertion());
        };
        match inner.verify_server_cert(certificate, intermediates, name, response, now) {
            // The name is checked last.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
