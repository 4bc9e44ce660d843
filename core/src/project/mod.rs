//! Projects: `Pulumi.yaml`, `Pulumi.<stack>.yaml`, and the configuration of a stack with its secret values.

mod config;
mod declaration;
mod project_file;
mod stack_file;
pub mod yaml;

pub(crate) use config::number_as_text;
pub use config::{Config, ConfigKey, ConfigValue, DecryptedConfig, DecryptedEntry, Plaintext};
pub use declaration::{ConfigDeclaration, ConfigType};
pub(crate) use project_file::check_name as check_project_name;
pub use project_file::{ProjectFile, ProjectRuntime};
pub use stack_file::StackFile;
