//! Project files (`Pulumi.yaml`) and stack files (`Pulumi.<stack>.yaml`), read, checked and edited in their own form.
//!
//! The engine itself does not read these files. [`Project`] binds a folder with such files to an engine: it reads and
//! changes them, and opens stacks that take their settings from there.
//!
//! ```
//! use stackwright_project::StackFile;
//!
//! # fn main() -> stackwright::Result<()> {
//! let file = StackFile::parse("config:\n  shop:size: 3\n")?;
//! let size = file.config.get_path("size", "shop")?;
//! assert_eq!(size.and_then(|value| value.scalar_text()).as_deref(), Some("3"));
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

pub mod yaml;
mod config;
mod declaration;
mod stack_file;
mod project_file;
mod file;
mod settings_document;
mod project;
mod program;
pub mod binding;

pub use config::AsYaml;
pub use declaration::{ConfigDeclaration, ConfigType};
pub use program::{MissingPart, missing_part, required_plugins};
pub use project::{ConfigChange, ConfigEntry, FoundProject, Project, open_stack};
pub use project_file::{PluginAtPath, ProjectFile, ProjectRuntime};
pub use settings_document::{replace_project, replace_settings, settings_document};
pub use stack_file::StackFile;
