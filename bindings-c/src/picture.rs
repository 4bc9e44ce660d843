//! Pictures of resources in their forms as text.

use stackwright::picture::Picture;

use crate::failure::{Failure, Outcome};

/// The form of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum sw_picture_form_t {
    /// One HTML page, which needs no other file and makes no request.
    SW_PICTURE_HTML = 0,
    /// A flowchart of Mermaid.
    SW_PICTURE_MERMAID = 1,
    /// A digraph of Graphviz.
    SW_PICTURE_DOT = 2,
}

/// Writes a picture in the form with a number of `sw_picture_form_t`.
pub(crate) fn written(picture: &Picture, form: i32) -> Outcome<Vec<u8>> {
    use sw_picture_form_t::{SW_PICTURE_DOT, SW_PICTURE_HTML, SW_PICTURE_MERMAID};
    let text = match form {
        form if form == SW_PICTURE_HTML as i32 => picture.to_html(),
        form if form == SW_PICTURE_MERMAID as i32 => picture.to_mermaid(),
        form if form == SW_PICTURE_DOT as i32 => picture.to_dot(),
        form => return Err(Failure::misuse(format!("unknown form of a picture: {form}"))),
    };
    Ok(text.into_bytes())
}
