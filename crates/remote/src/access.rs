//! Certificates and tokens: an authority of the operator's own, which signs the host and its clients.
//!
//! ```text
//! FOLDER/ca.pem, ca.key                                       the authority; its key signs, and never leaves
//! FOLDER/host/ca.pem, host.pem, host.key, token               what the host needs
//! FOLDER/client/ca.pem, client.pem, client.key, token         what a run needs: its `access`
//! ```

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use sha2::Digest as _;
use subtle::ConstantTimeEq as _;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};

/// Validity of an authority.
const YEARS_OF_AUTHORITY: u64 = 10;
const DAY: Duration = Duration::from_hours(24);
/// Certificates are valid from before now: clocks differ.
const BEFORE: Duration = Duration::from_hours(1);
/// Bytes of a token, as hexadecimal digits twice as many.
const TOKEN: usize = 32;
/// Longest file of certificates, of a key or of tokens, bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// Why access is not possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file holds something else than it should.
    #[error("{}: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// A machine cannot be reached by such a name.
    #[error("`{0}` is not a name or address of a machine")]
    NoName(String),
    /// A certificate cannot be made.
    #[error("the certificate cannot be made: {0}")]
    NotMade(String),
}

/// Certificates, their key and tokens of one side.
#[derive(Debug)]
pub struct Access {
    /// Certificates of the authorities that are trusted.
    pub(crate) authorities: Vec<CertificateDer<'static>>,
    /// The own certificate, and those up to the authority.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub(crate) tokens: Tokens,
}

impl Clone for Access {
    fn clone(&self) -> Self {
        Self {
            authorities: self.authorities.clone(),
            chain: self.chain.clone(),
            key: self.key.clone_key(),
            tokens: self.tokens.clone(),
        }
    }
}

/// Tokens that admit, one a line of their file.
#[derive(Clone)]
pub struct Tokens(Vec<String>);

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tokens", self.0.len())
    }
}

impl Tokens {
    /// Reads the file `token` of a folder.
    ///
    /// # Errors
    /// If it cannot be read, or has no token.
    pub fn read(folder: &Path) -> Result<Self, AccessError> {
        let path = folder.join("token");
        let file = |error| AccessError::File {
            path: path.clone(),
            error,
        };
        let length = path.metadata().map_err(file)?.len();
        let invalid = |reason: &str| AccessError::Invalid {
            path: path.clone(),
            reason: reason.to_owned(),
        };
        if length > LONGEST_FILE {
            return Err(invalid("it is too long for a file of tokens"));
        }
        let text = std::fs::read_to_string(&path).map_err(file)?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let tokens: Vec<String> = lines.map(str::to_owned).collect();
        let is_token = |token: &String| token.bytes().all(|byte| byte.is_ascii_graphic());
        if tokens.is_empty() || !tokens.iter().all(is_token) {
            return Err(invalid(
                "it holds no token: one a line, of printable characters",
            ));
        }
        Ok(Self(tokens))
    }

    /// Whether a token is one of them; takes the same time wherever it differs.
    pub(crate) fn admit(&self, token: &str) -> bool {
        let is_equal = |known: &String| known.as_bytes().ct_eq(token.as_bytes());
        let none = subtle::Choice::from(0);
        let any = self.0.iter().map(is_equal);
        any.fold(none, |any, one| any | one).into()
    }

    /// The first one, with which a run presents itself.
    pub(crate) fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

impl Access {
    /// Reads the access of a host from the folder that [`init`] has made.
    ///
    /// # Errors
    /// If a file is missing or holds something else.
    pub fn of_host(folder: &Path) -> Result<Self, AccessError> {
        Self::read(&folder.join("host"), "host")
    }

    /// Reads the access of a run: the folder `client` that [`init`] has made, or a copy of it.
    ///
    /// # Errors
    /// If a file is missing or holds something else.
    pub fn of_client(folder: &Path) -> Result<Self, AccessError> {
        Self::read(folder, "client")
    }

    fn read(folder: &Path, name: &str) -> Result<Self, AccessError> {
        let key = folder.join(format!("{name}.key"));
        Ok(Self {
            authorities: certificates(&folder.join("ca.pem"))?,
            chain: certificates(&folder.join(format!("{name}.pem")))?,
            key: PrivateKeyDer::from_pem_slice(&file(&key)?).map_err(|error| {
                invalid(&key, format!("it holds no private key: {}", fault(&error)))
            })?,
            tokens: Tokens::read(folder)?,
        })
    }
}

fn invalid(path: &Path, reason: String) -> AccessError {
    AccessError::Invalid {
        path: path.to_owned(),
        reason,
    }
}

fn file(path: &Path) -> Result<Vec<u8>, AccessError> {
    let failed = |error| AccessError::File {
        path: path.to_owned(),
        error,
    };
    if path.metadata().map_err(failed)?.len() > LONGEST_FILE {
        return Err(invalid(path, "it is too long".to_owned()));
    }
    std::fs::read(path).map_err(failed)
}

/// The fault of a file, without the bytes at which it shows.
const fn fault(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "it is cut short",
        pem::Error::NoItemsFound => "there are none of its kind",
        _ => "it is damaged",
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, AccessError> {
    let bytes = file(path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let all =
        all.map_err(|error| invalid(path, format!("it holds no certificates: {}", fault(&error))))?;
    if all.is_empty() {
        return Err(invalid(path, "it holds no certificate".to_owned()));
    }
    Ok(all)
}

/// Period in which certificates are valid.
#[derive(Debug, Clone, Copy)]
pub struct Validity {
    /// From when.
    pub from: SystemTime,
    /// Until when.
    pub until: SystemTime,
}

impl Validity {
    /// From now on for so many days.
    #[must_use]
    pub fn days(days: u32) -> Self {
        let now = SystemTime::now();
        Self {
            from: now - BEFORE,
            until: now + DAY * days,
        }
    }
}

/// Makes an authority with a token in `folder`, or takes the existing ones, and new certificates for a host with
/// these names and addresses and for runs.
///
/// # Errors
/// If a file cannot be written or read.
pub fn init(folder: &Path, names: &[String], validity: Validity) -> Result<(), AccessError> {
    let not_made = |error: rcgen::Error| AccessError::NotMade(error.to_string());
    // A certificate may be for all names of a domain.
    let is_name = |name: &str| ServerName::try_from(name.trim_start_matches("*.")).is_ok();
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        return Err(AccessError::NoName(name.clone()));
    }
    for part in ["host", "client"] {
        let path = folder.join(part);
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&path);
        made.map_err(|error| AccessError::File { path, error })?;
    }
    let (authority, certificate) = authority(folder)?;
    let token_path = folder.join("host").join("token");
    let token = match token_path.exists() {
        true => Tokens::read(&folder.join("host"))?.first().to_owned(),
        false => new_token()?,
    };
    if !token_path.exists() {
        write(&token_path, &format!("{token}\n"))?;
    }
    write(&folder.join("client").join("token"), &format!("{token}\n"))?;
    let sides = [
        ("host", names, ExtendedKeyUsagePurpose::ServerAuth),
        ("client", &[], ExtendedKeyUsagePurpose::ClientAuth),
    ];
    for (side, names, usage) in sides {
        let mut params = CertificateParams::new(names.to_vec()).map_err(not_made)?;
        let common_name = names.first().map_or("gyrator run", String::as_str);
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.extended_key_usages = vec![usage];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        params.not_before = validity.from.into();
        params.not_after = validity.until.into();
        let key = KeyPair::generate().map_err(not_made)?;
        let signed = params.signed_by(&key, &authority).map_err(not_made)?;
        let folder = folder.join(side);
        write(&folder.join("ca.pem"), &certificate)?;
        write(&folder.join(format!("{side}.pem")), &signed.pem())?;
        write(&folder.join(format!("{side}.key")), &key.serialize_pem())?;
    }
    Ok(())
}

/// The authority of a folder, and its certificate.
fn authority(folder: &Path) -> Result<(Issuer<'static, KeyPair>, String), AccessError> {
    let not_made = |error: rcgen::Error| AccessError::NotMade(error.to_string());
    let (key_path, path) = (folder.join("ca.key"), folder.join("ca.pem"));
    let is_new = !key_path.exists();
    let key = match is_new {
        true => KeyPair::generate().map_err(not_made)?,
        false => {
            let text = String::from_utf8_lossy(&file(&key_path)?).into_owned();
            let key = KeyPair::from_pem(&text);
            key.map_err(|error| invalid(&key_path, error.to_string()))?
        }
    };
    let mut params = CertificateParams::default();
    // A name of its own, by which others are distinguished.
    let digest = sha2::Sha256::digest(key.public_key_raw());
    let name = format!("gyrator serve {}", crate::hexadecimal(&digest[..4]));
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let now = SystemTime::now();
    params.not_before = (now - BEFORE).into();
    params.not_after = (now + DAY * 365 * u32::try_from(YEARS_OF_AUTHORITY).unwrap_or(1)).into();
    if !is_new {
        let certificate = String::from_utf8_lossy(&file(&path)?).into_owned();
        return Ok((Issuer::new(params, key), certificate));
    }
    let certificate = params.self_signed(&key).map_err(not_made)?.pem();
    write(&path, &certificate)?;
    write(&key_path, &key.serialize_pem())?;
    Ok((Issuer::new(params, key), certificate))
}

fn new_token() -> Result<String, AccessError> {
    let mut bytes = [0; TOKEN];
    getrandom::fill(&mut bytes).map_err(|error| AccessError::NotMade(error.to_string()))?;
    Ok(crate::hexadecimal(&bytes))
}

/// Writes a file that its owner alone can read.
fn write(path: &Path, text: &str) -> Result<(), AccessError> {
    let options = |options: &mut OpenOptions| {
        options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
    };
    let written =
        options(&mut OpenOptions::new()).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| AccessError::File {
        path: path.to_owned(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_renewed_by_the_same_authority() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        init(folder.path(), &names, Validity::days(1)).unwrap();
        let host = Access::of_host(folder.path()).unwrap();
        let client = Access::of_client(&folder.path().join("client")).unwrap();
        assert_eq!(host.authorities, client.authorities);
        assert!(host.tokens.admit(client.tokens.first()));
        init(folder.path(), &names, Validity::days(2)).unwrap();
        let renewed = Access::of_host(folder.path()).unwrap();
        assert_eq!(renewed.authorities, host.authorities);
        assert_ne!(renewed.chain, host.chain);
        assert!(renewed.tokens.admit(client.tokens.first()));
    }

    #[test]
    fn names_are_those_of_machines() {
        let folder = tempfile::tempdir().unwrap();
        let made = |name: &str| init(folder.path(), &[name.to_owned()], Validity::days(1));
        for good in [
            "lab",
            "lab.example",
            "*.lab.example",
            "::1",
            "10.0.0.1",
            "lab_2",
        ] {
            assert!(made(good).is_ok(), "{good}");
        }
        for wrong in ["", "a b", "lab:7443", "https://lab", "lab!"] {
            assert!(
                matches!(made(wrong), Err(AccessError::NoName(_))),
                "{wrong}"
            );
        }
    }

    #[test]
    fn damaged_files_are_named_in_words() {
        let folder = tempfile::tempdir().unwrap();
        init(folder.path(), &["lab".to_owned()], Validity::days(1)).unwrap();
        let path = folder.path().join("client/client.pem");
        let text = std::fs::read_to_string(&path).unwrap();
        for (damaged, words) in [
            (&text[..text.len() / 2], "it is cut short"),
            ("", "it holds no certificate"),
        ] {
            std::fs::write(&path, damaged).unwrap();
            let error = Access::of_client(&folder.path().join("client")).unwrap_err();
            let message = error.to_string();
            assert!(message.ends_with(words), "{message}");
            assert!(message.contains("client.pem"), "{message}");
        }
    }

    #[test]
    fn a_token_is_admitted_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "one\n\n  two\n").unwrap();
        let tokens = Tokens::read(folder.path()).unwrap();
        assert!(tokens.admit("one") && tokens.admit("two"));
        for wrong in ["", "on", "onee", "One", "three"] {
            assert!(!tokens.admit(wrong), "{wrong}");
        }
        for empty in ["", "\n \n", "two words"] {
            std::fs::write(folder.path().join("token"), empty).unwrap();
            assert!(Tokens::read(folder.path()).is_err(), "{empty}");
        }
    }
}
