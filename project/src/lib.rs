//! Project files (`Pulumi.yaml`) and stack files (`Pulumi.<stack>.yaml`), read, checked and edited in their own form.
//!
//! The engine itself does not read these files: a host reads its configuration with this crate and passes it to the
//! engine.
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

pub use config::AsYaml;
pub use declaration::{ConfigDeclaration, ConfigType};
pub use project_file::{ProjectFile, ProjectRuntime};
pub use stack_file::StackFile;
