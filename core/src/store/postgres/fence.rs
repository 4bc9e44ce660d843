//! Leases in a table of their own. Each write of a stack checks the lease in its own statement: a takeover waits for the
//! writes before it, and the former holder's later writes affect no row.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio_postgres::types::{ToSql, Type};

use super::server::{Change, MAX_ATTEMPTS, Parameter, Server};
use crate::{
    error::Result,
    store::{Condition, Object, Version, changed, lease::LeaseRecords},
};

/// The values of a statement, all of them texts.
#[derive(Default)]
pub(super) struct Parameters<'value> {
    pub values: Vec<Parameter<'value>>,
}

impl<'value> Parameters<'value> {
    /// Adds a value, and returns its placeholder.
    pub(super) fn bind(&mut self, value: &'value (dyn ToSql + Sync)) -> String {
        self.values.push((value, Type::TEXT));
        format!("${}", self.values.len())
    }
}

/// Returns the part of a statement that locks the row of a lease, and the condition that it has one, which begins with `AND`.
pub(super) fn clauses<'value>(
    table: &str,
    (name, mark): &'value (String, String),
    parameters: &mut Parameters<'value>,
) -> (String, String) {
    let part = format!(
        "held AS (SELECT 1 FROM {table} WHERE name = {} AND mark = {} FOR SHARE)",
        parameters.bind(name),
        parameters.bind(mark)
    );
    (part, " AND EXISTS (SELECT 1 FROM held)".to_owned())
}

/// Returns whether a lease is still that of the holder.
pub(super) async fn is_held(server: &Server, name: &str, mark: &str) -> Result<bool> {
    let mut parameters = Parameters::default();
    let text = format!(
        "SELECT 1 FROM {} WHERE name = {} AND mark = {}",
        server.leases(),
        parameters.bind(&name),
        parameters.bind(&mark)
    );
    let rows = server
        .read(&text, &parameters.values, &format!("read the lease of {name}"))
        .await?;
    Ok(!rows.is_empty())
}

/// The table of leases. The version of a record is its content.
pub(super) struct LeaseTable(pub Arc<Server>);

#[async_trait]
impl LeaseRecords for LeaseTable {
    async fn read(&self, name: &str) -> Result<Option<Object>> {
        let mut parameters = Parameters::default();
        let text = format!(
            "SELECT record FROM {} WHERE name = {}",
            self.0.leases(),
            parameters.bind(&name)
        );
        let rows = self
            .0
            .read(&text, &parameters.values, &format!("read the lease of {name}"))
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let record = self.0.column::<&str>(row, 0)?;
        Ok(Some(Object {
            bytes: Bytes::copy_from_slice(record.as_bytes()),
            version: record.into(),
        }))
    }

    async fn write(&self, name: &str, mark: &str, record: Bytes, condition: Condition) -> Result<Version> {
        let record = String::from_utf8_lossy(&record).into_owned();
        let table = self.0.leases();
        let mut parameters = Parameters::default();
        let bound = [&name as &(dyn ToSql + Sync), &mark, &record].map(|value| parameters.bind(value));
        let [name_at, mark_at, record_at] = &bound;
        let expected = match &condition {
            Condition::Match(version) => &**version,
            Condition::Any | Condition::Absent => "",
        };
        let insert =
            format!("INSERT INTO {table} (name, mark, record) VALUES ({name_at}, {mark_at}, {record_at})");
        let text = match &condition {
            Condition::Any => format!(
                "{insert} ON CONFLICT (name) DO UPDATE SET mark = EXCLUDED.mark, record = EXCLUDED.record"
            ),
            Condition::Absent => format!("{insert} ON CONFLICT (name) DO NOTHING"),
            Condition::Match(_) => format!(
                "UPDATE {table} SET mark = {mark_at}, record = {record_at} WHERE name = {name_at} AND record = {}",
                parameters.bind(&expected)
            ),
        };
        let action = format!("write the lease of {name}");
        let mut is_repeated = false;
        for _ in 0..MAX_ATTEMPTS {
            match self.0.change(&text, &parameters.values, &action).await? {
                Change::Unknown => is_repeated = true,
                Change::Unanswered => {
                    return match self.read(name).await? {
                        Some(object) if *object.version == *record => Ok(object.version),
                        _ => Err(self.0.unanswered(&action)),
                    };
                }
                Change::Rows(0) => {
                    // A record is never written twice: it has the mark of its holder and a number.
                    let present = if is_repeated { self.read(name).await? } else { None };
                    return match present {
                        Some(object) if *object.version == *record => Ok(object.version),
                        _ => Err(changed(name)),
                    };
                }
                Change::Rows(_) => return Ok(record.as_str().into()),
            }
        }
        Err(self.0.lost(&action))
    }

    fn checks_writes(&self) -> bool {
        true
    }

    async fn release(&self, name: &str, _mark: &str, _released: Bytes, version: &Version) -> Result<()> {
        let record = &**version;
        let mut parameters = Parameters::default();
        let text = format!(
            "DELETE FROM {} WHERE name = {} AND record = {}",
            self.0.leases(),
            parameters.bind(&name),
            parameters.bind(&record)
        );
        let action = format!("remove the lease of {name}");
        match self.0.repeat(&text, &parameters.values, &action).await? {
            0 if self.read(name).await?.is_some() => Err(changed(name)),
            _ => Ok(()),
        }
    }
}
