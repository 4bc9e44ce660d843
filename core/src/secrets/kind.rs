//! The kinds of secrets managers, and the names of providers in settings files and commands.

/// Managers with a passphrase.
pub const PASSPHRASE: &str = "passphrase";

/// Managers with a data key that a key service wraps.
pub const KEY_SERVICE: &str = "cloud";

/// Managers that only encode.
pub const ENCODED: &str = "b64";

/// The schemes of the URLs of key services.
pub const KEY_SERVICES: [&str; 4] = ["awskms", "azurekeyvault", "gcpkms", "hashivault"];

/// Returns whether a settings file or a command that names this provider means a passphrase.
///
/// # Examples
/// ```
/// use stackwright::secrets::kind::is_passphrase;
///
/// assert!(is_passphrase("default"));
/// assert!(!is_passphrase("awskms://alias/shop"));
/// ```
#[must_use]
pub fn is_passphrase(provider: &str) -> bool {
    matches!(provider, "" | "default" | PASSPHRASE)
}
