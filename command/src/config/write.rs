//! `config set`, `config set-all`, `config rm` and `config rm-all`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use stackwright::{ErrorKind, config::ConfigValue};

use super::{Target, read::print_values};
use crate::{
    arguments::{ConfigSet, ConfigSetAll},
    failure::{Failure, Result},
    printer::Printer,
};

const NOT_SET: &str = "could not set config: ";
/// The end of the library's error for a path without its last bracket, and the reference engine's text.
const OPEN_BRACKET: &str = ": a bracket is not closed";
const REFERENCE_OPEN_BRACKET: &str = "invalid config key path: missing closing bracket in array index";

/// A value as `config --json` prints it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with a `value`")]
struct GivenValue {
    value: Option<String>,
    object_value: Option<Value>,
    #[serde(default)]
    secret: bool,
}

/// Sets one value.
pub(super) async fn set(target: &Target<'_>, arguments: &ConfigSet) -> Result {
    let printer = target.printer(&arguments.flags.form);
    let marks = [("secret", arguments.secret), ("plaintext", arguments.plaintext)];
    if arguments.value_type.is_some()
        && let Some((mark, _)) = marks.iter().find(|(_, is_given)| *is_given)
    {
        return Err(Failure::new(format!(
            "if any flags in the group [secret plaintext type] are set none of the others can be; [{mark} type] were all set"
        )));
    }
    let path = target.path_of(&arguments.key, arguments.path).await?;
    let value = match &arguments.value {
        Some(value) => value.clone(),
        None => read_value(target, printer, arguments.secret, arguments.raw).await?,
    };
    let (value, secret) = match &arguments.value_type {
        Some(value_type) => {
            let value = ConfigValue::from_plain_json(typed(&value, value_type)?)?;
            (value, Some(false))
        }
        // Without a flag, the declaration of the key decides.
        None if !arguments.secret && !arguments.plaintext => (ConfigValue::plain(value), None),
        None => (ConfigValue::plain(value), Some(arguments.secret)),
    };
    let paths = [path.clone()];
    write(target, vec![(path, value)], secret).await?;
    print_values(target, printer, target.name(), &paths).await
}

/// Returns a value of a type.
fn typed(text: &str, value_type: &str) -> Result<Value> {
    let value = match value_type {
        "int" => text.parse::<i64>().ok().map(Value::from),
        "float" => text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(Value::from),
        "bool" => text.parse::<bool>().ok().map(Value::from),
        _ => Some(Value::from(text)),
    };
    value.ok_or_else(|| Failure::new(format!("the value {text:?} is no {value_type}")))
}

/// Asks for a value, or reads the standard input. One newline at its end is not part of it, unless the value is `raw` and was not
/// typed. A secret that is typed is not shown.
async fn read_value(target: &Target<'_>, printer: Printer<'_>, secret: bool, raw: bool) -> Result<String> {
    let session = target.session;
    let ask = match (session.ask(), &session.invocation.terminal.ask_hidden) {
        (Some(_), _) if printer.is_document() => {
            return Err(Failure::new(
                "no value is asked for where a document is printed: pass it as the second argument, or through the standard input",
            ));
        }
        (Some(_), None) if secret => {
            return Err(Failure::new(
                "a secret is not typed where it would be shown: pass it as the second argument, or through the standard input",
            ));
        }
        (Some(_), Some(hidden)) if secret => Some(hidden),
        (ask, _) => ask,
    };
    let mut value = match ask {
        Some(ask) => session
            .invocation
            .answer(ask, "value: ")
            .await?
            .unwrap_or_default(),
        None => {
            let read = (session.invocation.stdin)()
                .map_err(|error| Failure::new(format!("reading the standard input: {error}")))?;
            let text = String::from_utf8(read);
            let text = text.map_err(|_| Failure::new("the standard input is no text in UTF-8"))?;
            if raw {
                return Ok(text);
            }
            text
        }
    };
    if value.ends_with('\n') {
        value.pop();
        if value.ends_with('\r') {
            value.pop();
        }
    }
    Ok(value)
}

/// Sets values, in one write.
pub(super) async fn set_all(target: &Target<'_>, arguments: &ConfigSetAll) -> Result {
    let mut values = Vec::new();
    if let Some(json) = &arguments.json {
        if arguments.path || !arguments.plaintext.is_empty() || !arguments.secret.is_empty() {
            return Err(Failure::new(
                "the --json option cannot be used with the --plaintext, --secret or --path options",
            ));
        }
        let given: BTreeMap<String, GivenValue> = serde_json::from_str(json)
            .map_err(|error| Failure::new(format!("could not parse --json argument: {error}")))?;
        for (key, given) in given {
            let value = parsed(&key, given)?;
            values.push((target.path_of(&key, false).await?, value));
        }
    }
    let pairs = arguments.plaintext.iter().map(|pair| (pair, false));
    for (pair, secret) in pairs.chain(arguments.secret.iter().map(|pair| (pair, true))) {
        let (key, value) = split(pair)?;
        let path = target.path_of(key, arguments.path).await?;
        values.push((
            path,
            match secret {
                true => ConfigValue::secret(value),
                false => ConfigValue::plain(value),
            },
        ));
    }
    let paths: Vec<String> = values.iter().map(|(path, _)| path.clone()).collect();
    write(target, values, Some(false)).await?;
    let printer = Printer::new(target.session.invocation, arguments.is_json());
    print_values(target, printer, target.name(), &paths).await
}

/// Sets values, given as `KEY=VALUE`, in one write. The declaration of a key decides whether its value is a secret.
pub(super) async fn assign(target: &Target<'_>, pairs: &[String], are_paths: bool) -> Result {
    let mut values = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let (key, value) = split(pair)?;
        values.push((target.path_of(key, are_paths).await?, ConfigValue::plain(value)));
    }
    write(target, values, None).await
}

fn split(pair: &str) -> Result<(&str, &str)> {
    pair.split_once('=')
        .ok_or_else(|| Failure::new("config value must be in the form [key]=[value]"))
}

/// Removes values, in one write, and returns how many there were. Absent ones are no error.
pub(super) async fn remove(target: &Target<'_>, keys: &[String], is_path: bool) -> Result<usize> {
    let mut paths = Vec::with_capacity(keys.len());
    for key in keys {
        paths.push(target.path_of(key, is_path).await?);
    }
    Ok(target.project.remove_config(target.name(), &paths).await?)
}

fn parsed(key: &str, given: GivenValue) -> Result<ConfigValue> {
    let Some(value) = given.value else {
        return Err(Failure::new(format!(
            "value for --json object key \"{key}\" is nil"
        )));
    };
    if given.object_value.is_none() {
        return Ok(match given.secret {
            true => ConfigValue::secret(value),
            false => ConfigValue::plain(value),
        });
    }
    let structure: Value = serde_json::from_str(&value)
        .map_err(|error| Failure::new(format!("could not parse --json argument: {key}: {error}")))?;
    Ok(match given.secret {
        true => ConfigValue::secret_from_plain_json(structure)?,
        false => ConfigValue::from_plain_json(structure)?,
    })
}

async fn write(target: &Target<'_>, values: Vec<(String, ConfigValue)>, secret: Option<bool>) -> Result {
    write_to(target, target.name(), values, secret).await
}

/// Sets values of a stack of the project, in one write.
pub(super) async fn write_to(
    target: &Target<'_>,
    stack: &str,
    values: Vec<(String, ConfigValue)>,
    secret: Option<bool>,
) -> Result {
    let written = target.project.set_all_config(stack, values, secret, None).await;
    written.map_err(|error| match error.kind() {
        ErrorKind::InvalidInput if error.message().ends_with(OPEN_BRACKET) => {
            Failure::new(REFERENCE_OPEN_BRACKET).after(NOT_SET)
        }
        ErrorKind::InvalidInput => Failure::from(error).after(NOT_SET),
        _ => error.into(),
    })
}
