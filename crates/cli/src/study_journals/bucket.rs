//! Objects of an S3-compatible store, by URLs `s3://bucket/folder/name`.
//!
//! Calls wait for the store; those that fail for a moment are tried again for three minutes.

use std::time::SystemTime;

use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{Error, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions};
use tokio::runtime::Runtime;

/// How URLs of objects begin.
const SCHEME: &str = "s3://";

/// Why objects cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StorageError {
    /// The URL names no bucket.
    #[error("`{0}` is not the URL of an object, such as s3://bucket/folder/table.csv")]
    Url(String),
    /// The store has refused, or cannot be reached.
    #[error("{url}: {source}")]
    Store {
        /// The URL.
        url: String,
        /// The error of the store.
        source: Box<Error>,
    },
    /// The thread cannot wait for the network.
    #[error("cannot wait for the network: {0}")]
    Network(#[from] std::io::Error),
}

/// An object of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Object {
    /// Its name in the bucket.
    pub(crate) name: String,
    /// When it was written, by the clock of the store.
    pub(crate) written: SystemTime,
}

/// A bucket of a store. Address and credentials come from the environment, as other programs take them: `AWS_ACCESS_KEY_ID`,
/// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, `AWS_ALLOW_HTTP`.
#[derive(Debug)]
pub(crate) struct Bucket {
    name: String,
    store: AmazonS3,
    runtime: Runtime,
}

impl Bucket {
    /// The bucket of a URL, and the name of the object in it; no object is looked at yet.
    ///
    /// # Errors
    ///
    /// [`StorageError`].
    pub(crate) fn of_url(url: &str) -> Result<(Self, String), StorageError> {
        let wrong = || StorageError::Url(url.to_owned());
        let rest = url.strip_prefix(SCHEME).ok_or_else(wrong)?;
        let (bucket, name) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong());
        }
        // The one that the program has for other connections.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let store = AmazonS3Builder::from_env().with_bucket_name(bucket).build();
        let store = store.map_err(|source| StorageError::Store {
            url: url.to_owned(),
            source: Box::new(source),
        })?;
        let bucket = Self {
            name: bucket.to_owned(),
            store,
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
        };
        Ok((bucket, name.trim_end_matches('/').to_owned()))
    }

    fn fault(&self, name: &str) -> impl Fn(Error) -> StorageError {
        let url = format!("{SCHEME}{}/{name}", self.name);
        move |source| StorageError::Store {
            url: url.clone(),
            source: Box::new(source),
        }
    }

    /// The objects whose names begin with `folder/`, in the order of their names.
    ///
    /// # Errors
    ///
    /// [`StorageError::Store`].
    pub(crate) fn list(&self, folder: &str) -> Result<Vec<Object>, StorageError> {
        let prefix = Path::from(folder);
        let list = self.store.list(Some(&prefix)).map_ok(|found| Object {
            name: found.location.to_string(),
            written: found.last_modified.into(),
        });
        let list = self.runtime.block_on(list.try_collect());
        let mut objects: Vec<Object> = list.map_err(self.fault(folder))?;
        objects.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(objects)
    }

    /// The content of an object; `None` where there is none of this name.
    ///
    /// # Errors
    ///
    /// [`StorageError::Store`].
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let path = Path::from(name);
        let read = self.runtime.block_on(async {
            let found = self.store.get(&path).await?;
            found.bytes().await
        });
        match read {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.fault(name)(error)),
        }
    }

    /// The contents of objects, one after the other; many are on their way at the same time.
    ///
    /// # Errors
    ///
    /// [`StorageError::Store`], also where there is none of a name.
    pub(crate) fn read_all(&self, names: &[&str]) -> Result<Vec<u8>, StorageError> {
        /// A hundredth of what a store allows in a second, which is some thousand.
        const AT_ONCE: usize = 32;
        let read = |name: &str| {
            let path = Path::from(name);
            async move { self.store.get(&path).await?.bytes().await }
        };
        let reads = futures_util::stream::iter(names.iter().map(|name| read(name)));
        let read = self.runtime.block_on(reads.buffered(AT_ONCE).try_collect());
        let pieces: Vec<_> = read.map_err(self.fault(names.first().unwrap_or(&"")))?;
        Ok(pieces.concat())
    }

    /// Writes an object, in the place of one of the same name.
    ///
    /// # Errors
    ///
    /// [`StorageError::Store`].
    pub(crate) fn write(&self, name: &str, content: Vec<u8>) -> Result<(), StorageError> {
        self.put(name, content, PutMode::Overwrite)
            .map_err(self.fault(name))
    }

    /// Writes an object where there is none of this name; whether there was none.
    ///
    /// # Errors
    ///
    /// [`StorageError::Store`].
    pub(crate) fn create(&self, name: &str, content: Vec<u8>) -> Result<bool, StorageError> {
        match self.put(name, content, PutMode::Create) {
            Ok(()) => Ok(true),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(self.fault(name)(error)),
        }
    }

    /// Removes an object, if it is there.
    ///
    /// # Errors
    ///
    /// [`StorageError::Store`].
    pub(crate) fn remove(&self, name: &str) -> Result<(), StorageError> {
        match self.runtime.block_on(self.store.delete(&Path::from(name))) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.fault(name)(error)),
        }
    }

    fn put(&self, name: &str, content: Vec<u8>, mode: PutMode) -> Result<(), Error> {
        let options = PutOptions::from(mode);
        let path = Path::from(name);
        let put = self.store.put_opts(&path, content.into(), options);
        self.runtime.block_on(put).map(|_| ())
    }
}
