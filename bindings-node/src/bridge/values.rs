//! Values that a promise resolves to.

use std::sync::Arc;

use napi::{
    Result,
    bindgen_prelude::{ToNapiValue, TypeName},
    sys,
};
use stackwright::property::PropertyMap;

use super::Shared;

/// Values that are converted when the promise is resolved, on the JavaScript thread.
pub struct Values {
    pub(crate) values: PropertyMap,
    pub(crate) shared: Arc<Shared>,
}

impl TypeName for Values {
    fn type_name() -> &'static str {
        "object"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::Object
    }
}

impl ToNapiValue for Values {
    unsafe fn to_napi_value(env: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        value.shared.writer(&napi::Env::from_raw(env))?.map(&value.values)
    }
}
