//! `postgres://`: the parameters of its URL, and TLS.

use tokio_postgres::{Config, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    error::{Error, Result},
    store::{
        credentials::Credentials,
        location::{shown, unknown_parameter},
        open::percent_decode,
        trust::{self, Check},
    },
};

/// The table of the reference engine.
const DEFAULT_TABLE: &str = "pulumi_state";

/// The longest name of a table: with the endings of the other tables and the index, at most what the server accepts.
const MAX_TABLE_NAME: usize = 40;

/// The parameters of the URL that are interpreted here.
const OWN: [&str; 5] = ["table", "sslmode", "sslrootcert", "sslcert", "sslkey"];

/// The parameters of the URL that the client library interprets.
const PASSED_ON: [&str; 15] = [
    "user",
    "password",
    "dbname",
    "host",
    "hostaddr",
    "port",
    "application_name",
    "options",
    "connect_timeout",
    "tcp_user_timeout",
    "keepalives",
    "keepalives_idle",
    "target_session_attrs",
    "channel_binding",
    "load_balance_hosts",
];

/// Where a database is, and how to connect to it.
pub(super) struct Address {
    /// For messages: without user, password and parameters other than the table.
    pub url: String,
    pub config: Config,
    pub tls: MakeRustlsConnect,
    /// The name of the table, not quoted.
    pub table: String,
}

impl Address {
    /// Parses a URL. `table` and the parameters of TLS are not passed to the server.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`], without the password.
    pub(super) fn parse(url: &str, credentials: &Credentials) -> Result<Self> {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let shown = shown(url);
        let shown = shown
            .split_once('?')
            .map_or(&*shown, |(place, _)| place)
            .to_owned();
        let mut own = [const { None }; OWN.len()];
        let mut rest = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let known = OWN.iter().position(|known| *known == name);
            match known.and_then(|index| own.get_mut(index)) {
                Some(Some(_)) => {
                    let text = format!("the store URL {shown:?} has the parameter {name:?} twice");
                    return Err(Error::invalid(text));
                }
                Some(own) => {
                    *own = Some(percent_decode(value).ok_or_else(|| {
                        Error::invalid(format!(
                            "the parameter {name:?} of the store URL {shown:?} has an invalid percent escape"
                        ))
                    })?);
                }
                None if PASSED_ON.contains(&name) => rest.push(parameter),
                None => {
                    return Err(unknown_parameter(
                        &shown,
                        name,
                        &[&OWN[..], &PASSED_ON[..]].concat(),
                    ));
                }
            }
        }
        let [table, mode, root, certificate, key] = own;
        let mut config: Config = format!("{place}?{}", rest.join("&"))
            .parse()
            .map_err(|error| malformed(&shown, &error))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("localhost");
        }
        let variable = |name: &str| credentials.variable(name).map(str::to_owned);
        let mode = mode.or_else(|| variable("PGSSLMODE"));
        let root = root.or_else(|| variable("PGSSLROOTCERT"));
        let mode = mode.as_deref().unwrap_or("require");
        let check = match (mode, &root) {
            ("disable", _) => None,
            ("prefer" | "allow", _) | ("require", None) => Some(Check::None),
            ("require" | "verify-ca", _) => Some(Check::Authority),
            ("verify-full", _) => Some(Check::Full),
            _ => {
                return Err(Error::invalid(format!(
                    "the parameter \"sslmode\" of the store URL {shown:?} is {mode:?}, which is unknown"
                ))
                .with_hint("known values: disable, allow, prefer, require, verify-ca, verify-full"));
            }
        };
        config.ssl_mode(match mode {
            "disable" => SslMode::Disable,
            "prefer" | "allow" => SslMode::Prefer,
            _ => SslMode::Require,
        });
        let table = table.unwrap_or_else(|| DEFAULT_TABLE.to_owned());
        if table.is_empty() || table.len() > MAX_TABLE_NAME || table.contains('\0') {
            return Err(Error::invalid(format!(
                "the parameter \"table\" of the store URL {shown:?} must have 1 to {MAX_TABLE_NAME} bytes"
            )));
        }
        let url = match table == DEFAULT_TABLE {
            true => shown,
            false => format!("{shown}?table={table}"),
        };
        Ok(Self {
            url,
            config,
            tls: tls(check, root, certificate, key, credentials)?,
            table,
        })
    }
}

/// The text of the client library may quote the URL.
fn malformed(shown: &str, error: &tokio_postgres::Error) -> Error {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    Error::invalid(format!(
        "the store URL {shown:?} is malformed{}",
        cause.map(|cause| format!(": {cause}")).unwrap_or_default()
    ))
}

fn tls(
    check: Option<Check>,
    root: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
    credentials: &Credentials,
) -> Result<MakeRustlsConnect> {
    let roots = match (check, root) {
        // Nothing is checked.
        (None | Some(Check::None), _) => rustls::RootCertStore::empty(),
        (Some(_), Some(path)) if path != "system" => {
            let mut roots = rustls::RootCertStore::empty();
            trust::add_file(&mut roots, &path)?;
            roots
        }
        _ => trust::roots(credentials)?,
    };
    let check = check.unwrap_or(Check::Full);
    let config = match (certificate, key) {
        (Some(certificate), Some(key)) => trust::client_config_with_certificate(
            &roots,
            check,
            trust::certificates(&certificate)?,
            trust::private_key(&key)?,
        )?,
        (None, None) => trust::client_config(&roots, check)?,
        _ => {
            return Err(Error::invalid(
                "sslcert and sslkey of a store URL are used together",
            ));
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    fn parse(url: &str) -> Result<Address> {
        Address::parse(url, &Credentials::None)
    }

    #[test]
    fn the_parameters_of_this_engine_are_not_passed_to_the_server() {
        let address =
            parse("postgres://me:p%40ss@db.example:6432/state?sslmode=disable&table=team&application_name=a")
                .unwrap();
        assert_eq!(address.table, "team");
        assert_eq!(address.url, "postgres://db.example:6432/state?table=team");
        assert_eq!(address.config.get_ssl_mode(), SslMode::Disable);
        assert_eq!(address.config.get_hosts(), [Host::Tcp("db.example".to_owned())]);
        assert_eq!(address.config.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(address.config.get_application_name(), Some("a"));
        let default = parse("postgresql:///state").unwrap();
        assert_eq!(
            (default.table.as_str(), default.config.get_ssl_mode()),
            (DEFAULT_TABLE, SslMode::Require)
        );
        assert_eq!(default.config.get_hosts(), [Host::Tcp("localhost".to_owned())]);
    }

    #[test]
    fn errors_name_the_parameter_and_never_the_password() {
        for (url, reason) in [
            ("postgres://me:secret@host/db?sslmod=disable", "\"sslmod\""),
            ("postgres://me:secret@host/db?sslmode=off", "\"off\""),
            ("postgres://me:secret@host:port/db", "malformed"),
            ("postgres://me:secret@host/db?table=", "\"table\""),
            ("postgres://me:secret@host/db?table=a&table=b", "\"table\" twice"),
            ("postgres://me:secret@host/db?sslcert=x&sslmode=disable", "sslkey"),
        ] {
            let error = parse(url).map(drop).unwrap_err();
            assert!(error.message().contains(reason), "{url}: {error}");
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}
