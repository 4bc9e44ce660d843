//! Encoding and decoding of values for a provider.

use stackwright_proto::values::Struct;

use super::GrpcProvider;
use crate::{
    property::{
        PropertyMap,
        wire::{DecodeOptions, EncodeOptions, from_struct, to_struct},
    },
    provider::{Capabilities, ProviderError, ProviderResult, ProviderStatus},
};

/// Whether values may contain unknowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknowns {
    /// Unknowns are kept.
    Keep,
    /// Unknowns are removed from what is sent.
    Drop,
}

impl Unknowns {
    /// Returns the handling of unknowns: they are kept in previews only.
    pub(super) const fn in_preview(preview: bool) -> Self {
        if preview { Self::Keep } else { Self::Drop }
    }
}

/// Returns the encoding of values for a provider with these capabilities.
pub(super) const fn sending(
    label: &'static str,
    capabilities: Capabilities,
    unknowns: Unknowns,
) -> EncodeOptions {
    EncodeOptions {
        label,
        keep_unknowns: matches!(unknowns, Unknowns::Keep),
        skip_nulls: false,
        keep_secrets: true,
        keep_resources: capabilities.accept_resources,
        keep_outputs: false,
        whole_outputs: false,
        keep_bytes: capabilities.accept_byte_strings,
        elide_assets: false,
    }
}

/// Like [`sending`], for CheckConfig and DiffConfig. They precede Configure, so their values are plain.
pub(super) const fn sending_plain(label: &'static str, capabilities: Capabilities) -> EncodeOptions {
    EncodeOptions {
        keep_secrets: false,
        ..sending(label, capabilities, Unknowns::Keep)
    }
}

/// Like [`sending`], for recorded values: assets are reduced to their hashes.
pub(super) const fn sending_recorded(
    label: &'static str,
    capabilities: Capabilities,
    unknowns: Unknowns,
) -> EncodeOptions {
    EncodeOptions {
        elide_assets: true,
        ..sending(label, capabilities, unknowns)
    }
}

/// Encodes values.
pub(super) fn encode(map: &PropertyMap, options: &EncodeOptions) -> ProviderResult<Option<Struct>> {
    to_struct(map, options)
        .map(Some)
        .map_err(|error| ProviderError::new(ProviderStatus::InvalidArgument, error.message()))
}

/// Encodes optional values of a request.
pub(super) fn optional(map: Option<&PropertyMap>, options: &EncodeOptions) -> ProviderResult<Option<Struct>> {
    map.map_or(Ok(None), |map| encode(map, options))
}

/// Decodes the values of a response, including secrets and references. Unknowns are an error unless allowed.
pub(super) fn decode(
    provider: &GrpcProvider,
    call: &'static str,
    label: &'static str,
    message: Option<Struct>,
    unknowns: Unknowns,
) -> ProviderResult<PropertyMap> {
    decode_with(provider, call, label, message, unknowns, false)
}

/// Like [`decode`]; with `keep_outputs`, output values keep their dependencies.
pub(super) fn decode_with(
    provider: &GrpcProvider,
    call: &'static str,
    label: &'static str,
    message: Option<Struct>,
    unknowns: Unknowns,
    keep_outputs: bool,
) -> ProviderResult<PropertyMap> {
    let options = DecodeOptions {
        keep_outputs,
        reject_unknowns: unknowns == Unknowns::Drop,
        ..DecodeOptions::all(label)
    };
    from_struct(message.unwrap_or_default(), &options).map_err(|error| {
        let text = format!(
            "plugin {} answered {call} with bad values: {}",
            provider.name(),
            error.message()
        );
        ProviderError::new(ProviderStatus::Internal, text)
    })
}
