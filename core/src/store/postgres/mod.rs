//! PostgreSQL: the objects in the reference engine's table. What that table has no column for lies in tables beside it.

mod address;
mod encoding;
mod server;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_postgres::types::Type;

use self::{
    address::Address,
    encoding::{decode, encode, version_of},
    server::{Change, Server},
};
use super::{
    Condition, LockGuard, Object, ObjectInfo, Store, Version, changed, check_key, credentials::Credentials,
    not_found,
};
use crate::{
    error::{Error, Result},
    runtime::{Runtime, Timestamp},
};

/// The version of a row, computed by the server: the hash of its data as text, which is kept as it was written.
const VERSION: &str = "encode(sha256(convert_to(data::text, 'UTF8')), 'hex')";

/// The last character: after all keys with a prefix.
const LAST: char = '\u{10FFFF}';

/// A database of PostgreSQL.
pub(super) struct PostgresStore {
    server: Server,
}

impl PostgresStore {
    /// Opens the store of a URL. The connection is made by the first use.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the URL or the credentials cannot be used.
    pub(super) fn open(url: &str, credentials: &Credentials, runtime: &Runtime) -> Result<Self> {
        let address = Address::parse(url, credentials)?;
        Ok(Self {
            server: Server::new(address, credentials.clone(), runtime.clone()),
        })
    }

    fn table(&self) -> &str {
        self.server.table()
    }

    /// Returns the version of an object, without its content.
    async fn version(&self, key: &str) -> Result<Option<Version>> {
        let text = format!("SELECT {VERSION} FROM {} WHERE key = $1", self.table());
        let rows = self
            .server
            .read(&text, &[(&key, Type::TEXT)], &format!("read {key:?}"))
            .await?;
        rows.first()
            .map(|row| self.server.column::<&str>(row, 0).map(Version::from))
            .transpose()
    }

    /// Writes an object with a statement that affects no row when the condition does not hold.
    ///
    /// After a lost connection it is not known whether the write was done; then the object shows it.
    async fn write(
        &self,
        key: &str,
        statement: &str,
        data: &str,
        condition: &Condition,
        more: Option<&str>,
    ) -> Result<Version> {
        let written = version_of(data);
        let expected = match condition {
            Condition::Match(version) => Some(&**version),
            Condition::Any | Condition::Absent => None,
        };
        let mut parameters: Vec<server::Parameter<'_>> = vec![(&key, Type::TEXT), (&data, Type::TEXT)];
        for parameter in [&expected, &more] {
            if let Some(parameter) = parameter {
                parameters.push((parameter, Type::TEXT));
            }
        }
        let action = format!("write {key:?}");
        let mut is_repeated = false;
        for _ in 0..server::MAX_ATTEMPTS {
            match self.server.change(statement, &parameters, &action).await? {
                Change::Rows(0) if is_repeated && self.version(key).await?.as_ref() == Some(&written) => {
                    return Ok(written);
                }
                Change::Rows(0) => return Err(changed(key)),
                Change::Rows(_) => return Ok(written),
                Change::Unknown => {}
            }
            is_repeated = true;
            match (self.version(key).await?, condition) {
                (Some(version), _) if version == written => return Ok(written),
                (_, Condition::Any) | (None, Condition::Absent) => {}
                (Some(version), Condition::Match(expected)) if version == *expected => {}
                _ => return Err(changed(key)),
            }
        }
        Err(self.server.lost(&action))
    }
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("PostgresStore")
            .field("url", &self.server.url())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PostgresStore {
    fn url(&self) -> String {
        self.server.url().to_owned()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>> {
        check_key(key)?;
        let text = format!("SELECT data::text FROM {} WHERE key = $1", self.table());
        let rows = self
            .server
            .read(&text, &[(&key, Type::TEXT)], &format!("read {key:?}"))
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let data = self.server.column::<&str>(row, 0)?;
        Ok(Some(Object {
            bytes: decode(key, data)?,
            version: version_of(data),
        }))
    }

    async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        check_key(key)?;
        let table = self.table();
        let statement = match &condition {
            Condition::Any => format!(
                "INSERT INTO {table} (key, data, updated_at) VALUES ($1, $2::json, now()) \
                 ON CONFLICT (key) DO UPDATE SET data = EXCLUDED.data, updated_at = now()"
            ),
            Condition::Absent => format!(
                "INSERT INTO {table} (key, data, updated_at) VALUES ($1, $2::json, now()) ON CONFLICT (key) DO NOTHING"
            ),
            Condition::Match(_) => format!(
                "UPDATE {table} SET data = $2::json, updated_at = now() WHERE key = $1 AND {VERSION} = $3"
            ),
        };
        self.write(key, &statement, &encode(&bytes), &condition, None)
            .await
    }

    async fn put_keeping(
        &self,
        key: &str,
        bytes: Bytes,
        condition: Condition,
        kept: &str,
    ) -> Result<Version> {
        check_key(key)?;
        check_key(kept)?;
        let table = self.table();
        // The copy and the write are one statement, which reads the state from before it.
        let (holds, copy) = match &condition {
            Condition::Match(_) => (format!("key = $1 AND {VERSION} = $3"), "$4"),
            _ => ("key = $1".to_owned(), "$3"),
        };
        let statement = format!(
            "WITH kept AS (INSERT INTO {table} (key, data, updated_at) SELECT {copy}, data, now() FROM {table} WHERE {holds} \
             ON CONFLICT (key) DO UPDATE SET data = EXCLUDED.data, updated_at = now()) \
             UPDATE {table} SET data = $2::json, updated_at = now() WHERE {holds}"
        );
        if matches!(condition, Condition::Absent) {
            return Err(changed(key));
        }
        let written = self
            .write(key, &statement, &encode(&bytes), &condition, Some(kept))
            .await;
        match written {
            Err(error)
                if error.kind() == crate::ErrorKind::Conflict && self.version(key).await?.is_none() =>
            {
                Err(not_found(key))
            }
            written => written,
        }
    }

    /// The table has no appends: the object is read and replaced.
    async fn append(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
        let (mut content, condition) = match (self.get(key).await?, condition) {
            (None, Condition::Any | Condition::Absent) => (Vec::new(), Condition::Absent),
            (Some(object), Condition::Any) => (object.bytes.to_vec(), Condition::Match(object.version)),
            (Some(object), Condition::Match(version)) if object.version == version => {
                (object.bytes.to_vec(), Condition::Match(version))
            }
            _ => return Err(changed(key)),
        };
        content.extend_from_slice(&bytes);
        self.put(key, content.into(), condition).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
        // These operators use the index of the reference engine's table with any prefix. The size is that of the stored
        // form, for which the content need not be read.
        let text = format!(
            "SELECT key, pg_column_size(data)::bigint, (extract(epoch FROM updated_at) * 1000000)::bigint FROM {} \
             WHERE key ~>=~ $1 AND key ~<~ $2 ORDER BY key COLLATE \"C\"",
            self.table()
        );
        let end = format!("{prefix}{LAST}");
        let parameters: [server::Parameter<'_>; 2] = [(&prefix, Type::TEXT), (&end, Type::TEXT)];
        let rows = self
            .server
            .read(&text, &parameters, &format!("list the objects of {prefix:?}"))
            .await?;
        rows.iter()
            .map(|row| {
                let modified = Timestamp::from_microsecond(self.server.column::<i64>(row, 2)?)
                    .map_err(|error| Error::internal(format!("the time of a row: {error}")))?;
                Ok(ObjectInfo {
                    key: self.server.column::<String>(row, 0)?,
                    size: u64::try_from(self.server.column::<i64>(row, 1)?).unwrap_or(0),
                    modified,
                })
            })
            .collect()
    }

    async fn delete(&self, key: &str) -> Result<()> {
        check_key(key)?;
        let text = format!("DELETE FROM {} WHERE key = $1", self.table());
        self.server
            .repeat(&text, &[(&key, Type::TEXT)], &format!("remove {key:?}"))
            .await
            .map(drop)
    }

    async fn delete_version(&self, key: &str, version: &Version) -> Result<()> {
        check_key(key)?;
        let text = format!("DELETE FROM {} WHERE key = $1 AND {VERSION} = $2", self.table());
        let expected = &**version;
        let removed = self
            .server
            .repeat(
                &text,
                &[(&key, Type::TEXT), (&expected, Type::TEXT)],
                &format!("remove {key:?}"),
            )
            .await?;
        match removed {
            0 if self.version(key).await?.is_some() => Err(changed(key)),
            _ => Ok(()),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<()> {
        check_key(from)?;
        check_key(to)?;
        let table = self.table();
        let text = format!(
            "INSERT INTO {table} (key, data, updated_at) SELECT $2, data, now() FROM {table} WHERE key = $1 \
             ON CONFLICT (key) DO UPDATE SET data = EXCLUDED.data, updated_at = now()"
        );
        let parameters: [server::Parameter<'_>; 2] = [(&from, Type::TEXT), (&to, Type::TEXT)];
        match self
            .server
            .repeat(&text, &parameters, &format!("copy {from:?}"))
            .await?
        {
            0 => Err(not_found(from)),
            _ => Ok(()),
        }
    }

    async fn lock(&self, _name: &str) -> Result<Box<dyn LockGuard>> {
        Err(Error::internal("a database has leases, no locks"))
    }
}
