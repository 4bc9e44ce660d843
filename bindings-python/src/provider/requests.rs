//! Requests as Python sees them: views of the engine's requests, converted only where a provider looks.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyDict};
use stackwright::{property::PropertyMap, provider};

use super::views;
use crate::convert;

/// A map that becomes a dictionary when it is first looked at, and stays that one.
struct Lazy(PyOnceLock<Py<PyDict>>);

impl Lazy {
    const fn new() -> Self {
        Self(PyOnceLock::new())
    }

    fn get(&self, py: Python<'_>, map: &PropertyMap) -> PyResult<Py<PyDict>> {
        self.0
            .get_or_try_init(py, || convert::dictionary(py, map).map(Bound::unbind))
            .map(|dictionary| dictionary.clone_ref(py))
    }
}

/// Says how a real thing is to be named.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Autonaming(provider::Autonaming);

#[pymethods]
impl Autonaming {
    #[getter]
    fn proposed_name(&self) -> &str {
        &self.0.proposed_name
    }

    #[getter]
    const fn mode(&self) -> &'static str {
        self.0.mode.name()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }
}

/// Declares the Python class of a request: maps lazily, all else as it is.
macro_rules! request {
    (
        $(#[$doc:meta])*
        $class:ident {
            maps { $($(#[$map_doc:meta])* $map:ident: $read_map:expr;)* }
            plain { $($(#[$plain_doc:meta])* $plain:ident: $plain_type:ty = $read:expr;)* }
            $(publishes $views:ident;)?
            $(knows $known:ident;)?
        }
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "stackwright._stackwright")]
        pub(crate) struct $class {
            request: provider::$class,
            $($map: Lazy,)*
        }

        impl From<provider::$class> for $class {
            fn from(request: provider::$class) -> Self {
                Self { request, $($map: Lazy::new(),)* }
            }
        }

        #[pymethods]
        impl $class {
            $(
                $(#[$map_doc])*
                #[getter]
                fn $map(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
                    let read: fn(&provider::$class) -> Option<&PropertyMap> = $read_map;
                    read(&self.request).map(|map| self.$map.get(py, map)).transpose()
                }
            )*
            $(
                $(#[$plain_doc])*
                #[getter]
                fn $plain(&self) -> $plain_type {
                    let read: for<'a> fn(&'a provider::$class) -> $plain_type = $read;
                    read(&self.request)
                }
            )*

            $(
                fn publish_views(&self, steps: &Bound<'_, PyAny>) -> PyResult<()> {
                    views::publish(&self.request.$views, steps)
                }
            )?
            $(
                #[getter]
                fn old_views<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
                    views::recorded(py, &self.request.$known)
                }
            )?

            fn __repr__(&self) -> String {
                // The engine's own form of values hides secrets.
                format!("{:?}", self.request)
            }
        }
    };
}

request! {
    /// Asks for a check of inputs, of a resource or of the provider's own configuration.
    CheckRequest {
        maps {
            /// The recorded inputs; `None` when there are none, as for a resource that is to be created.
            old_inputs: |request| request.olds.as_ref();
            /// The inputs that the program asks for.
            inputs: |request| Some(&request.news);
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            r#type: &str = |request| request.resource_type.as_str();
            name: &str = |request| &request.name;
            /// Bytes that are the same whenever this registration is checked again: a seed for names.
            random_seed: &[u8] = |request| &request.random_seed;
            /// Whether this is a preview: unknowns may occur among the inputs.
            preview: bool = |request| request.preview;
            autonaming: Option<Autonaming> = |request| request.autonaming.clone().map(Autonaming);
        }
    }
}

request! {
    /// Asks for a comparison.
    DiffRequest {
        maps {
            /// The recorded inputs.
            old_inputs: |request| Some(&request.old_inputs);
            /// The recorded outputs.
            old_outputs: |request| Some(&request.old_outputs);
            /// The new inputs, as `check` left them.
            inputs: |request| Some(&request.news);
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            r#type: &str = |request| request.resource_type.as_str();
            name: &str = |request| &request.name;
            id: &str = |request| request.id.as_str();
            /// Paths whose changes are ignored: `inputs` has their recorded values already.
            ignore_changes: Vec<String> = |request| request.ignore_changes.clone();
            /// Whether this is a preview: unknowns may occur among the inputs.
            preview: bool = |request| request.preview;
        }
    }
}

request! {
    /// Configures a provider.
    ConfigureRequest {
        maps {
            /// The configuration, as `check_config` left it.
            inputs: |request| Some(&request.inputs);
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            name: &str = |request| &request.name;
            id: &str = |request| request.id.as_str();
        }
    }
}

request! {
    /// Asks for a creation.
    CreateRequest {
        maps {
            /// The inputs, as `check` left them.
            inputs: |request| Some(&request.inputs);
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            r#type: &str = |request| request.resource_type.as_str();
            name: &str = |request| &request.name;
            /// How long it may take, in seconds, as the option `custom_timeouts` says; 0 leaves it to the provider.
            /// The engine only passes it on: it ends no call itself.
            timeout: f64 = |request| request.timeout;
            /// Whether this is a preview: nothing may be made. Only a provider that `supports_preview` is asked then.
            preview: bool = |request| request.preview;
        }
        publishes views;
    }
}

request! {
    /// Asks for a resource as it is.
    ReadRequest {
        maps {
            /// The recorded inputs; `None` for an import, which has none.
            inputs: |request| request.inputs.as_ref();
            /// The recorded outputs; `None` for an import, which has none.
            outputs: |request| request.properties.as_ref();
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            r#type: &str = |request| request.resource_type.as_str();
            name: &str = |request| &request.name;
            id: &str = |request| request.id.as_str();
            /// How long it may take, in seconds, as the option `custom_timeouts` says; 0 leaves it to the provider.
            /// The engine only passes it on: it ends no call itself.
            timeout: f64 = |request| request.timeout;
            /// Whether this is a preview.
            preview: bool = |request| request.preview;
        }
        publishes views;
        knows views;
    }
}

request! {
    /// Asks for a change in place.
    UpdateRequest {
        maps {
            /// The recorded inputs.
            old_inputs: |request| Some(&request.old_inputs);
            /// The recorded outputs.
            old_outputs: |request| Some(&request.old_outputs);
            /// The new inputs, as `check` left them.
            inputs: |request| Some(&request.news);
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            r#type: &str = |request| request.resource_type.as_str();
            name: &str = |request| &request.name;
            id: &str = |request| request.id.as_str();
            /// Paths whose changes are ignored: `inputs` has their recorded values already.
            ignore_changes: Vec<String> = |request| request.ignore_changes.clone();
            /// How long it may take, in seconds, as the option `custom_timeouts` says; 0 leaves it to the provider.
            /// The engine only passes it on: it ends no call itself.
            timeout: f64 = |request| request.timeout;
            /// Whether this is a preview: nothing may be changed. Only a provider that `supports_preview` is asked then.
            preview: bool = |request| request.preview;
        }
        publishes views;
        knows views;
    }
}

request! {
    /// Asks for a removal.
    DeleteRequest {
        maps {
            /// The recorded inputs.
            inputs: |request| Some(&request.inputs);
            /// The recorded outputs.
            outputs: |request| Some(&request.outputs);
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            r#type: &str = |request| request.resource_type.as_str();
            name: &str = |request| &request.name;
            id: &str = |request| request.id.as_str();
            /// How long it may take, in seconds, as the option `custom_timeouts` says; 0 leaves it to the provider.
            /// The engine only passes it on: it ends no call itself.
            timeout: f64 = |request| request.timeout;
        }
        publishes views;
        knows views;
    }
}

request! {
    /// Calls a function of the package.
    InvokeRequest {
        maps {
            arguments: |request| Some(&request.arguments);
        }
        plain {
            /// The function, as `package:module:member`.
            token: &str = |request| &request.token;
            /// Whether this is a preview.
            preview: bool = |request| request.preview;
        }
    }
}

request! {
    /// Asks for the schema of the package.
    SchemaRequest {
        maps {}
        plain {
            /// The package that a parameter made of the provider; empty for the provider's own.
            subpackage_name: &str = |request| &request.subpackage_name;
            /// Its version.
            subpackage_version: &str = |request| &request.subpackage_version;
        }
    }
}

request! {
    /// Asks for a mapping from another ecosystem to the package.
    MappingRequest {
        maps {}
        plain {
            /// The ecosystem, `terraform` for instance.
            key: &str = |request| &request.key;
            /// The foreign provider, one of those that `get_mappings` named; empty when it named none.
            provider: &str = |request| &request.provider;
        }
    }
}
