//! The reference engine's document of a plan: `manifest`, `config`, `resourcePlans`, in that order.

#[cfg(test)]
mod golden;
mod goal;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use read::{read, read_sealed};
pub(super) use write::write;
