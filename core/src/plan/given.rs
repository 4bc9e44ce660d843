//! Plans as input: one of a result of this process, or a document.

use std::{borrow::Cow, sync::Arc};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::value::RawValue;

use super::{Plan, json};
use crate::{
    error::Result,
    secrets::{SecretsManager, SecretsProvider},
};

/// A plan that constrains an operation.
#[derive(Clone, Debug)]
pub enum GivenPlan {
    /// The plan of a result, as in `OperationResult::plan`.
    Kept(Arc<Plan>),
    /// The text of a document.
    Document(Arc<str>),
}

impl GivenPlan {
    /// Reads a document; the plan of a result is returned unchanged.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the place for a malformed document, [`crate::ErrorKind::Decrypt`] when
    /// its secrets cannot be decrypted.
    pub(crate) async fn open(
        &self,
        manager: Option<&Arc<dyn SecretsManager>>,
        provider: &Arc<dyn SecretsProvider>,
    ) -> Result<Arc<Plan>> {
        match self {
            Self::Kept(plan) => Ok(Arc::clone(plan)),
            Self::Document(text) => json::read(text, manager, provider).await.map(Arc::new),
        }
    }
}

impl From<Arc<Plan>> for GivenPlan {
    fn from(plan: Arc<Plan>) -> Self {
        Self::Kept(plan)
    }
}

/// Plans of results are compared by identity.
impl PartialEq for GivenPlan {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kept(left), Self::Kept(right)) => Arc::ptr_eq(left, right),
            (Self::Document(left), Self::Document(right)) => left == right,
            _ => false,
        }
    }
}

impl Eq for GivenPlan {}

/// A document in options is JSON, or a text that contains it.
impl<'de> Deserialize<'de> for GivenPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{') => Ok(Self::Document(text.into())),
            Some(b'"') => {
                let text: String = serde_json::from_str(text).map_err(de::Error::custom)?;
                Ok(Self::Document(text.into()))
            }
            _ => Err(de::Error::custom("a plan is an object, or a text that holds one")),
        }
    }
}

impl JsonSchema for GivenPlan {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "GivenPlan".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "object" }, { "type": "string" }] })
    }
}

impl Serialize for GivenPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let text = match self {
            Self::Document(text) => Some(&**text),
            Self::Kept(plan) => plan.document(),
        };
        let text = text.ok_or_else(|| ser::Error::custom("the plan has not been written"))?;
        let raw: &RawValue = serde_json::from_str(text).map_err(ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_may_stand_in_options_as_it_is_or_as_a_text() {
        let expected = GivenPlan::Document(r#"{"resourcePlans":{}}"#.into());
        for text in [r#"{"resourcePlans":{}}"#, r#""{\"resourcePlans\":{}}""#] {
            assert_eq!(serde_json::from_str::<GivenPlan>(text).unwrap(), expected);
        }
        let error = serde_json::from_str::<GivenPlan>("[]").unwrap_err();
        assert!(error.to_string().contains("a plan is an object"), "{error}");
    }

    #[test]
    fn options_with_a_document_can_be_written() {
        let given = GivenPlan::Document(r#"{"resourcePlans": {}}"#.into());
        assert_eq!(serde_json::to_string(&given).unwrap(), r#"{"resourcePlans": {}}"#);
    }
}
