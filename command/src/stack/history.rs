//! `stack history`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stackwright::{
    ErrorKind,
    binding::ConfigEntryDocument,
    config::{Config, ConfigKey},
};
use stackwright_project::{ConfigEntry, StackFile, binding::document_of, yaml::Format};

use crate::{
    arguments::StackHistory,
    display::plain_line,
    failure::{Failure, Result},
    session::{NamedStack, Session},
    text,
};

/// The result of an operation that has not ended.
const IN_PROGRESS: &str = "in-progress";

/// The value of a secret that the stack's secrets manager cannot decrypt any more, in the reference engine's words.
const UNREADABLE: &str = "ERROR_UNABLE_TO_DECRYPT";

/// A record as it is kept.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    kind: String,
    start_time: i64,
    message: String,
    environment: BTreeMap<String, String>,
    config: Value,
    result: String,
    end_time: i64,
    resource_changes: Option<BTreeMap<String, u64>>,
}

/// The version of every row: the reference engine numbers none in stores without accounts.
const UNNUMBERED: i64 = 0;

/// A row as it is printed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    version: i64,
    kind: String,
    start_time: String,
    message: String,
    environment: BTreeMap<String, String>,
    config: BTreeMap<String, ConfigEntryDocument>,
    result: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_changes: Option<BTreeMap<String, u64>>,
}

/// Prints the history, newest row first.
pub(super) async fn history(session: &Session<'_>, arguments: &StackHistory) -> Result {
    let named = session.stack_or_selected(arguments.stack.stack.as_deref())?;
    let stack = session.stack(&named).await?;
    let limit = usize::try_from(arguments.page_size).ok().filter(|size| *size > 0);
    // Without a size all rows are one page, whose number does not matter.
    let page = match limit {
        Some(_) => usize::try_from(arguments.page).unwrap_or(1).max(1),
        None => 1,
    };
    let records = stack.history_page(limit, page).await?;
    let mut rows = Vec::with_capacity(records.len());
    for record in records {
        let record: Record = read(record)?;
        let times = (record.start_time, record.end_time);
        rows.push((times, row(session, &named, record, arguments.show_secrets).await?));
    }
    if arguments.form.is_json() {
        let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
        session.invocation.print(text::document(&rows)?);
        return Ok(());
    }
    let now = session.engine.runtime().clock.now().as_second();
    for ((start, end), row) in &rows {
        let updated = match arguments.full_dates {
            true => row.start_time.clone(),
            false => text::ago(now - start),
        };
        print(session, row, &updated, end - start);
    }
    Ok(())
}

fn read(record: Value) -> Result<Record> {
    serde_json::from_value(record)
        .map_err(|error| Failure::new(format!("a history record is malformed: {error}")))
}

async fn row(session: &Session<'_>, named: &NamedStack, record: Record, show_secrets: bool) -> Result<Row> {
    let time = |seconds: i64| Timestamp::from_second(seconds).map(text::milliseconds);
    let malformed = |error| Failure::new(format!("a history record has a wrong time: {error}"));
    let is_over = record.result != IN_PROGRESS;
    Ok(Row {
        version: UNNUMBERED,
        start_time: time(record.start_time).map_err(malformed)?,
        end_time: match is_over {
            true => Some(time(record.end_time).map_err(malformed)?),
            false => None,
        },
        config: config(session, named, &record.config, show_secrets).await?,
        kind: record.kind,
        message: record.message,
        environment: record.environment,
        result: record.result,
        // As in the reference engine, also where nothing was counted.
        resource_changes: is_over.then(|| record.resource_changes.unwrap_or_default()),
    })
}

/// Returns the configuration of a record, its values in the form of `config --json`. What cannot be decrypted any more is named so.
async fn config(
    session: &Session<'_>,
    named: &NamedStack,
    recorded: &Value,
    show_secrets: bool,
) -> Result<BTreeMap<String, ConfigEntryDocument>> {
    let config = parsed(named, recorded)?;
    if config.is_empty() {
        return Ok(BTreeMap::new());
    }
    let project = match session.project_of(named) {
        Some(project) => project,
        None => session.project()?,
    };
    let read = async |config: &Config| {
        project
            .list_kept_config(named.name.stack(), config, show_secrets, None)
            .await
    };
    let documented =
        |entries: BTreeMap<ConfigKey, ConfigEntry>| -> Result<BTreeMap<String, ConfigEntryDocument>> {
            let documents = entries
                .iter()
                .map(|(key, entry)| Ok((key.to_string(), document_of(entry)?)));
            documents.collect()
        };
    match read(&config).await {
        // Values of a former passphrase, of which the rest of the row is still worth reading.
        Err(error) if error.kind() == ErrorKind::Decrypt => {}
        entries => return documented(entries?),
    }
    let mut documents = BTreeMap::new();
    for (key, value) in config.iter() {
        let mut alone = Config::new();
        alone.insert(key.clone(), value.clone());
        match read(&alone).await {
            Err(error) if error.kind() == ErrorKind::Decrypt => {
                let unreadable = ConfigEntryDocument {
                    value: Some(UNREADABLE.to_owned()),
                    object_value: None,
                    secret: true,
                };
                documents.insert(key.to_string(), unreadable);
            }
            entries => documents.extend(documented(entries?)?),
        }
    }
    Ok(documents)
}

/// Parses the configuration of a record, which has the form of stack files.
fn parsed(named: &NamedStack, recorded: &Value) -> Result<Config> {
    if recorded.is_null() {
        return Ok(Config::new());
    }
    let file = json!({ "config": recorded }).to_string();
    let file = StackFile::parse_as(&file, Format::Json, Some(named.name.project()))?;
    Ok(file.config)
}

/// Returns the configuration of the newest record; `None` for a stack without history.
pub(crate) async fn newest_config(session: &Session<'_>, named: &NamedStack) -> Result<Option<Config>> {
    let stack = session.stack(named).await?;
    for page in 1.. {
        let Some(record) = stack.history_page(Some(1), page).await?.pop() else {
            break;
        };
        let record = read(record)?;
        // The record of an interrupted operation has none.
        if record.result != IN_PROGRESS {
            return parsed(named, &record.config).map(Some);
        }
    }
    Ok(None)
}

/// Prints a row for readers, with the time of its begin and its seconds.
fn print(session: &Session<'_>, row: &Row, updated: &str, seconds: i64) {
    let print = |line: String| session.invocation.print(line);
    print(format!("Version: {}", row.version));
    print(format!("UpdateKind: {}", row.kind));
    print(format!("Status: {}", row.result));
    // Both can be from a repository of others.
    let lines: Vec<_> = row.message.lines().map(plain_line).collect();
    print(format!("Message: {}", lines.join("\n")));
    let changes = row.resource_changes.iter().flatten();
    let count = |name: &str| {
        changes
            .clone()
            .find(|(op, _)| *op == name)
            .map_or(0, |(_, count)| *count)
    };
    print(format!(
        "+{}-{}~{} {} Updated {} took {}",
        count("create"),
        count("delete"),
        count("update"),
        count("same"),
        updated,
        match row.end_time {
            Some(_) => text::duration(seconds),
            None => "no end yet".to_owned(),
        }
    ));
    for (name, value) in row.environment.iter().filter(|(_, value)| !value.is_empty()) {
        print(format!("    {name}: {}", plain_line(value)));
    }
    print(String::new());
}
