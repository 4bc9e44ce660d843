//! The contents of a program: its declarations, independent of the language.

use std::{collections::BTreeMap, fmt};

use crate::{
    codegen::{
        configuration,
        names::{Case, Identifiers},
        package::DeclaredPackage,
        schema::PackageSchema,
        secret_keys::SecretKeys,
        value::Expression,
    },
    property::PropertyMap,
    resource::ProviderReference,
};

/// What a program registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeclaredKind {
    /// A resource that a provider manages.
    Custom,
    /// A component of the program.
    Component,
    /// A component that its provider constructs.
    Remote,
    /// A provider.
    Provider,
}

/// A reference of a declaration to another resource.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reference {
    /// Another declaration, by its position; it comes before.
    Declared(usize),
    /// A resource that is recorded and not declared: the URN of a parent, the reference of a provider.
    Recorded(String),
}

/// One declaration.
#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) kind: DeclaredKind,
    /// The type token.
    pub(crate) resource_type: String,
    /// The name in the URN.
    pub(crate) name: String,
    /// The recorded URN.
    pub(crate) urn: String,
    /// For a provider: its reference in records.
    pub(crate) reference: String,
    /// The name from which the variable is made.
    pub(crate) label: String,
    pub(crate) inputs: PropertyMap,
    /// `None` for a child of the stack.
    pub(crate) parent: Option<Reference>,
    /// `None` for the default provider, or the parent's.
    pub(crate) provider: Option<Reference>,
    pub(crate) protect: bool,
    /// The version of the package; empty for none.
    pub(crate) version: String,
    /// The address of the package's plugin; empty for none.
    pub(crate) download_url: String,
    /// `None` for a package with a plugin of its own.
    pub(crate) package: Option<DeclaredPackage>,
}

impl Declaration {
    /// Returns the package of a provider; `None` for other resources.
    pub(super) fn provided_package(&self) -> Option<&str> {
        let package = self.resource_type.strip_prefix("pulumi:providers:");
        package.filter(|_| self.kind == DeclaredKind::Provider)
    }

    /// Returns the package of the type.
    pub(super) fn package_name(&self) -> &str {
        self.resource_type.split(':').next().unwrap_or_default()
    }

    /// Sets the plugin of the package, which has the version and the address then.
    pub(crate) fn served_by(&mut self, package: DeclaredPackage) {
        self.version.clear();
        self.download_url.clear();
        self.package = Some(package);
    }
}

/// A program, as data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(super) declarations: Vec<Declared>,
    secrets: SecretConfiguration,
}

/// A declaration whose inputs are expressions.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) declaration: Declaration,
    pub(super) inputs: Vec<(String, Expression)>,
    /// The arguments of a class of the SDKs, where they are not the inputs.
    pub(super) arguments: Option<Vec<(String, Expression)>>,
}

/// The secret values that a program reads from the configuration, as texts by key (`project:name`). Debug output shows the keys.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct SecretConfiguration(pub(crate) BTreeMap<String, String>);

impl fmt::Debug for SecretConfiguration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl Program {
    /// Creates a program of a project. Each declaration comes after those that it refers to.
    ///
    /// Secrets become keys of the configuration that are not among `taken`: those that are marked, and those that are secret by
    /// the schemas.
    pub(crate) fn new<'a>(
        project: &str,
        declarations: Vec<Declaration>,
        taken: impl IntoIterator<Item = &'a str>,
        schemas: &[PackageSchema],
    ) -> Self {
        let mut keys = SecretKeys::new(project, taken);
        let declared = declarations.into_iter().map(|declaration| {
            let provided = declaration.provided_package();
            let package = provided.unwrap_or_else(|| declaration.package_name());
            let schema = schemas.iter().find(|it| it.name == package);
            let inputs = match schema {
                Some(schema) => {
                    let token = provided.is_none().then_some(declaration.resource_type.as_str());
                    keys.inputs(&declaration.label, &schema.marked(token, &declaration.inputs))
                }
                None => keys.inputs(&declaration.label, &declaration.inputs),
            };
            let schema = schema.filter(|_| provided.is_some());
            let arguments =
                schema.map(|schema| configuration::arguments(&mut keys, &declaration.label, &inputs, schema));
            Declared {
                declaration,
                inputs,
                arguments,
            }
        });
        Self {
            declarations: declared.collect(),
            secrets: keys.into_values(),
        }
    }

    /// Returns the values of the configuration that the program needs.
    pub(crate) fn secrets(&self) -> &SecretConfiguration {
        &self.secrets
    }

    /// Returns whether the program reads the configuration.
    pub(super) fn reads_configuration(&self) -> bool {
        !self.secrets.0.is_empty()
    }

    /// Returns a variable for each declaration.
    pub(super) fn variables(&self, case: Case, reserved: &[&str]) -> (Vec<String>, Identifiers) {
        let mut identifiers = Identifiers::new(case, reserved);
        let declared = self.declarations.iter();
        let variables = declared
            .map(|declared| identifiers.take(&declared.declaration.label))
            .collect();
        (variables, identifiers)
    }

    /// Returns, for each declaration, whether another one refers to it.
    pub(super) fn referred(&self) -> Vec<bool> {
        let mut referred = vec![false; self.declarations.len()];
        for Declared { declaration, .. } in &self.declarations {
            for reference in [&declaration.parent, &declaration.provider].into_iter().flatten() {
                if let Reference::Declared(index) = reference
                    && let Some(place) = referred.get_mut(*index)
                {
                    *place = true;
                }
            }
        }
        referred
    }
}

/// Returns whether a recorded reference is that of a default provider, which no program declares.
pub(super) fn is_default_provider(reference: &str) -> bool {
    ProviderReference::parse(reference).is_ok_and(|reference| reference.urn.is_default_provider())
}
