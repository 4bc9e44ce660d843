//! Requests as Python objects over the engine's requests; maps are converted on first access.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyDict};
use stackwright::{property::PropertyMap, provider};

use super::{shown::Shown, views};
use crate::convert;

/// A dictionary that is converted from a map on first access and then kept.
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

/// The physical name that the host proposes, and its mode.
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

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shown = Shown::new(py, "Autonaming").member("proposed_name", self.proposed_name())?;
        Ok(shown.member("mode", self.mode())?.text())
    }
}

/// Declares the Python class of a request. Maps are converted lazily; other members are returned directly.
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

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let shown = Shown::new(py, stringify!($class));
                $(
                    let read: for<'a> fn(&'a provider::$class) -> $plain_type = $read;
                    let shown = shown.member(stringify!($plain), read(&self.request))?;
                )*
                $(
                    let read: fn(&provider::$class) -> Option<&PropertyMap> = $read_map;
                    let shown = shown.map(stringify!($map), read(&self.request))?;
                )*
                Ok(shown.text())
            }
        }
    };
}

request! {
    /// Requests a check of inputs, of a resource or of the provider's own configuration.
    CheckRequest {
        maps {
            /// The recorded inputs; `None` when there are none, as for a new resource.
            old_inputs: |request| request.olds.as_ref();
            /// The recorded outputs; `None` where there are no recorded inputs.
            old_outputs: |request| request.old_outputs.as_ref();
            /// The inputs that the program registered.
            inputs: |request| Some(&request.news);
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            r#type: &str = |request| request.resource_type.as_str();
            name: &str = |request| &request.name;
            /// A seed for names: the same bytes each time that this registration is checked.
            random_seed: &[u8] = |request| &request.random_seed;
            /// Whether this is a preview: unknowns may occur among the inputs.
            preview: bool = |request| request.preview;
            autonaming: Option<Autonaming> = |request| request.autonaming.clone().map(Autonaming);
        }
    }
}

request! {
    /// Requests a comparison.
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
            /// Paths whose changes are ignored; `inputs` has their recorded values already.
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
    /// Requests a creation.
    CreateRequest {
        maps {
            /// The inputs, as `check` left them.
            inputs: |request| Some(&request.inputs);
        }
        plain {
            urn: &str = |request| request.urn.as_str();
            r#type: &str = |request| request.resource_type.as_str();
            name: &str = |request| &request.name;
            /// The timeout in seconds, from the option `custom_timeouts`; 0 is the provider's default.
            /// The engine does not enforce it.
            timeout: f64 = |request| request.timeout;
            /// Whether this is a preview: nothing may be created. Only a provider with `supports_preview` gets those.
            preview: bool = |request| request.preview;
        }
        publishes views;
    }
}

request! {
    /// Requests the current state of a resource.
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
            /// The timeout in seconds, from the option `custom_timeouts`; 0 is the provider's default.
            /// The engine does not enforce it.
            timeout: f64 = |request| request.timeout;
            /// Whether this is a preview.
            preview: bool = |request| request.preview;
        }
        publishes views;
        knows views;
    }
}

request! {
    /// Requests an update in place.
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
            /// Paths whose changes are ignored; `inputs` has their recorded values already.
            ignore_changes: Vec<String> = |request| request.ignore_changes.clone();
            /// The timeout in seconds, from the option `custom_timeouts`; 0 is the provider's default.
            /// The engine does not enforce it.
            timeout: f64 = |request| request.timeout;
            /// Whether this is a preview: nothing may be changed. Only a provider with `supports_preview` gets those.
            preview: bool = |request| request.preview;
        }
        publishes views;
        knows views;
    }
}

request! {
    /// Requests a deletion.
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
            /// The timeout in seconds, from the option `custom_timeouts`; 0 is the provider's default.
            /// The engine does not enforce it.
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
    /// Requests the schema of the package.
    SchemaRequest {
        maps {}
        plain {
            /// The parameterized package; empty for the provider's own.
            subpackage_name: &str = |request| &request.subpackage_name;
            /// Its version.
            subpackage_version: &str = |request| &request.subpackage_version;
        }
    }
}

request! {
    /// Requests a mapping from another ecosystem to the package.
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
