//! Pictures of resources in their forms as text.

use stackwright::picture::Picture;

use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{Slot, guard},
    status::sw_status_t,
};

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

/// Returns the document of a plan as a picture: a text in a form of `sw_picture_form_t`. It needs no key: encrypted secrets are masked, and
/// texts outside of them are shown as the document has them. A plan has the new values of the properties that change, and no others.
///
/// # Safety
/// `plan` must be readable, `picture` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_plan_picture(
    plan: sw_bytes_view_t,
    form: i32,
    picture: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(picture, "picture") }?;
        // SAFETY: readable by this function's contract.
        let plan = unsafe { plan.text("the plan") }?;
        let text = written(&Picture::of_plan_document(plan)?, form)?;
        place.fill(sw_bytes_t::boxed(text));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
