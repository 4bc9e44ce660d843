//! Strategies for property tests: property values of every kind.

use std::sync::Arc;

use proptest::{collection, option, prelude::*};
use smol_str::SmolStr;

use crate::{
    property::{
        Archive, ArchiveSource, Asset, AssetSource, Output, PropertyMap, PropertyValue, ResourceReference,
        Unknown,
    },
    token::ResourceId,
    urn::Urn,
};

/// Generates any unknown.
pub(crate) fn unknown() -> impl Strategy<Value = Unknown> {
    proptest::sample::select(&Unknown::ALL)
}

/// Generates texts with lengths around the limit of inline storage, with quotes, separators and other scripts.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,30}",
        proptest::string::string_regex("[\"\\\\<>&\u{2028}\u{2029}\u{0}\n\u{7f}é→🙂 ]{0,8}").unwrap(),
        any::<String>(),
    ]
}

/// Generates a URN.
pub(crate) fn urn() -> impl Strategy<Value = Urn> {
    "[a-z]{1,6}".prop_map(|name| Urn::new("dev", "shop", "", "pkg:index:Type", &name))
}

/// Generates any finite or infinite number; NaN is not equal to itself.
pub(crate) fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        any::<i32>().prop_map(f64::from),
        any::<i64>().prop_map(|whole| whole as f64),
        proptest::sample::select(&[0.0, -0.0, 1e21, 1e-7, 1e-6, f64::INFINITY, f64::NEG_INFINITY][..]),
    ]
    .prop_filter("NaN is not equal to itself", |number| !number.is_nan())
}

fn hash() -> impl Strategy<Value = SmolStr> {
    prop_oneof![Just(SmolStr::default()), "[0-9a-f]{64}".prop_map(SmolStr::from)]
}

fn asset() -> impl Strategy<Value = Arc<Asset>> {
    let source = prop_oneof![
        text().prop_map(AssetSource::Text),
        "[a-z./]{1,9}".prop_map(AssetSource::Path),
        "https://[a-z]{1,9}".prop_map(AssetSource::Uri),
    ];
    (hash(), source).prop_map(|(hash, source)| Arc::new(Asset { hash, source }))
}

fn archive() -> impl Strategy<Value = Arc<Archive>> {
    let leaf = (
        hash(),
        prop_oneof![
            "[a-z./]{1,9}".prop_map(ArchiveSource::Path),
            "https://[a-z]{1,9}".prop_map(ArchiveSource::Uri),
        ],
    )
        .prop_map(|(hash, source)| Arc::new(Archive { hash, source }));
    leaf.prop_recursive(2, 8, 3, |inner| {
        let entry = prop_oneof![
            asset().prop_map(PropertyValue::Asset),
            inner.prop_map(PropertyValue::Archive),
        ];
        (hash(), collection::btree_map("[a-z./]{1,9}", entry, 0..3)).prop_map(|(hash, assets)| {
            Arc::new(Archive {
                hash,
                source: ArchiveSource::Assets(assets),
            })
        })
    })
}

fn reference() -> impl Strategy<Value = Arc<ResourceReference>> {
    let id = prop_oneof![
        "[a-z0-9]{1,40}".prop_map(|id| Ok(ResourceId::from(id))),
        Just(Err(Unknown::String)),
    ];
    (urn(), option::of(id), "[0-9.]{0,5}").prop_map(|(urn, id, version)| {
        Arc::new(ResourceReference {
            urn,
            id,
            package_version: version.into(),
        })
    })
}

fn leaf() -> impl Strategy<Value = PropertyValue> {
    prop_oneof![
        2 => Just(PropertyValue::Null),
        2 => any::<bool>().prop_map(PropertyValue::Bool),
        4 => number().prop_map(PropertyValue::Number),
        6 => text().prop_map(PropertyValue::from),
        1 => collection::vec(any::<u8>(), 0..40).prop_map(|bytes| PropertyValue::Bytes(bytes.into())),
        1 => asset().prop_map(PropertyValue::Asset),
        1 => archive().prop_map(PropertyValue::Archive),
        1 => reference().prop_map(PropertyValue::ResourceReference),
        1 => unknown().prop_map(PropertyValue::Unknown),
    ]
}

/// Generates any value, nested a few levels. The element of an output is neither an output nor an unknown, that of a
/// secret is no secret: the constructors and codecs merge those.
pub(crate) fn value() -> impl Strategy<Value = PropertyValue> {
    leaf().prop_recursive(4, 48, 5, |inner| {
        prop_oneof![
            3 => collection::vec(inner.clone(), 0..5).prop_map(PropertyValue::array),
            3 => entries(inner.clone()).prop_map(PropertyValue::Object),
            2 => inner.clone().prop_map(PropertyValue::secret),
            1 => (inner, any::<bool>(), collection::vec(urn(), 0..3), any::<bool>()).prop_map(
                |(element, secret, dependencies, known)| {
                    let element = match element {
                        PropertyValue::Output(_) | PropertyValue::Unknown(_) => None,
                        element => known.then_some(element),
                    };
                    PropertyValue::Output(Arc::new(Output { element, secret, dependencies }))
                }
            ),
        ]
    })
}

fn entries(value: impl Strategy<Value = PropertyValue>) -> impl Strategy<Value = PropertyMap> {
    collection::vec((text(), value), 0..5).prop_map(|entries| entries.into_iter().collect())
}

/// Generates any map.
pub(crate) fn map() -> impl Strategy<Value = PropertyMap> {
    entries(value())
}
