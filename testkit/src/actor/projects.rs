//! The project of a stack: its files, its settings, and the tags of the stack.

use serde_json::{Value, json};
use stackwright::{Engine, Error, Result, Stack, binding::config_value, config::ConfigValue};
use stackwright_project::{Project, binding};

use super::run::{Answer, broken, error};

pub(super) use stackwright_project::open_stack;

/// Answers the request `project`.
pub(super) async fn act(engine: &Engine, stack: &Stack, message: &Value) -> Answer {
    let found = match message["part"].as_str().unwrap_or_default() {
        part @ ("tag" | "untag" | "tags") => of_tags(part, stack, message).await,
        part => of_files(part, engine, message).await,
    };
    Ok(json!({ "found": found.map_err(|it| error(&it))?? }))
}

async fn of_tags(part: &str, stack: &Stack, message: &Value) -> Result<Answer> {
    let name = text(message, "path");
    Ok(Ok(match part {
        "tag" => stack
            .set_tag(name, text(message, "value"))
            .await
            .map(|()| Value::Null)?,
        "untag" => stack.remove_tag(name).await?.into(),
        _ => json!(stack.list_tags().await?),
    }))
}

async fn of_files(part: &str, engine: &Engine, message: &Value) -> Result<Answer> {
    let project = Project::open(engine, text(message, "folder")).await?;
    let (stack, path) = (text(message, "stack"), text(message, "path"));
    let passphrase = message["passphrase"].as_str().map(str::to_owned);
    let secrets = binding::secrets_of(engine, passphrase)?;
    Ok(match part {
        "facts" => parsed(&binding::project_document(&project).await?),
        "settings" => parsed(&binding::stack_file_document(&project, stack).await?),
        "write" => Ok(project.set(path, &message["value"]).await.map(|()| Value::Null)?),
        "erase" => Ok(project.remove(path).await?.into()),
        "get" => parsed(&binding::entry_document(
            &project.get_config(stack, path, secrets).await?,
        )?),
        "list" => {
            let shown = message["showSecrets"] == json!(true);
            let entries = project.list_config(stack, shown, secrets).await?;
            parsed(&binding::entries_document(&entries)?)
        }
        "set" => {
            let secret = message["secret"].as_bool();
            project
                .set_all_config(stack, values(message)?, secret, secrets)
                .await?;
            Ok(Value::Null)
        }
        "remove" => {
            let paths = serde_json::from_value(message["paths"].clone());
            let paths: Vec<String> = paths.map_err(|error| Error::invalid(error.to_string()))?;
            Ok(project.remove_config(stack, &paths).await?.into())
        }
        other => Err(broken(format!("this actor cannot {other} a project"))),
    })
}

fn values(message: &Value) -> Result<Vec<(String, ConfigValue)>> {
    let values = message["values"].as_object().into_iter().flatten();
    let values = values.map(|(path, value)| Ok((path.clone(), config_value(value.clone())?)));
    values.collect()
}

fn parsed(document: &[u8]) -> Answer {
    serde_json::from_slice(document).map_err(|error| broken(format!("what was read: {error}")))
}

fn text<'a>(message: &'a Value, name: &str) -> &'a str {
    message[name].as_str().unwrap_or_default()
}
