//! Lineages: the transforms of a resource and of those above it.

use std::sync::Arc;

use super::TransformList;

/// The transforms of a resource, and those of everything above it. They apply to everything below it.
#[derive(Debug)]
pub(in crate::monitor) struct Lineage {
    /// The name of the resource.
    name: String,
    own: TransformList,
    above: Option<Arc<Self>>,
}

impl Lineage {
    /// Returns the lineage of a resource below another one; `None` when there are no transforms. A resource without
    /// transforms has the lineage of its parent.
    pub(super) fn below(above: Option<Arc<Self>>, name: &str, own: TransformList) -> Option<Arc<Self>> {
        if own.is_empty() {
            return above;
        }
        Some(Arc::new(Self {
            name: name.to_owned(),
            own,
            above,
        }))
    }

    /// Returns names and transforms, from the nearest resource to the furthest.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &TransformList)> {
        let nearest = std::iter::successors(Some(self), |lineage| lineage.above.as_deref());
        nearest.map(|lineage| (lineage.name.as_str(), &lineage.own))
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::{
        error::Result,
        monitor::{ResourceTransform, TransformArgs},
    };

    struct Unchanged;

    #[async_trait]
    impl ResourceTransform for Unchanged {
        async fn transform(&self, _args: TransformArgs) -> Result<Option<TransformArgs>> {
            Ok(None)
        }
    }

    #[test]
    fn the_nearest_resource_comes_first_and_those_without_transforms_are_left_out() {
        assert!(Lineage::below(None, "root", Vec::new()).is_none());
        let outer = Lineage::below(None, "outer", vec![Arc::new(Unchanged), Arc::new(Unchanged)]);
        let middle = Lineage::below(outer, "middle", Vec::new());
        let inner = Lineage::below(middle, "inner", vec![Arc::new(Unchanged)]).unwrap();
        let found: Vec<_> = inner.iter().map(|(name, own)| (name, own.len())).collect();
        assert_eq!(found, [("inner", 1), ("outer", 2)]);
    }
}
