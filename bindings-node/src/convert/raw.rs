//! The few Node-API calls that conversions are made of, each wrapped once.
//!
//! A [`Scope`] is made on the JavaScript thread, inside a callback, and never leaves it: that is what makes each call
//! below sound. Handles ([`Js`]) live as long as that callback.

use std::ptr;

use napi::{Result, check_status, sys};

/// A handle of a JavaScript value; valid inside the callback that made it.
pub(crate) type Js = sys::napi_value;

/// The JavaScript environment during one callback.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    env: sys::napi_env,
}

/// The length of most texts: they are read without asking for their length first.
const SHORT_TEXT: usize = 256;

macro_rules! make {
    ($what:literal, |$out:ident| $call:expr) => {{
        let mut $out = ptr::null_mut();
        // SAFETY: the environment is alive and on its own thread (see the module), and `$out` outlives the call.
        let status = unsafe { $call };
        check_status!(status, $what)?;
        Ok($out)
    }};
}

impl Scope {
    /// Wraps the environment of the running callback.
    pub(crate) const fn new(env: sys::napi_env) -> Self {
        Self { env }
    }

    pub(crate) fn undefined(self) -> Result<Js> {
        make!("undefined", |out| sys::napi_get_undefined(self.env, &mut out))
    }

    pub(crate) fn null(self) -> Result<Js> {
        make!("null", |out| sys::napi_get_null(self.env, &mut out))
    }

    pub(crate) fn boolean(self, value: bool) -> Result<Js> {
        make!("a boolean", |out| sys::napi_get_boolean(
            self.env, value, &mut out
        ))
    }

    pub(crate) fn number(self, value: f64) -> Result<Js> {
        make!("a number", |out| sys::napi_create_double(
            self.env, value, &mut out
        ))
    }

    pub(crate) fn text(self, value: &str) -> Result<Js> {
        make!("a text", |out| sys::napi_create_string_utf8(
            self.env,
            value.as_ptr().cast(),
            value.len() as isize,
            &mut out
        ))
    }

    pub(crate) fn bytes(self, value: &[u8]) -> Result<Js> {
        make!("bytes", |out| sys::napi_create_buffer_copy(
            self.env,
            value.len(),
            value.as_ptr().cast(),
            ptr::null_mut(),
            &mut out
        ))
    }

    pub(crate) fn object(self) -> Result<Js> {
        make!("an object", |out| sys::napi_create_object(self.env, &mut out))
    }

    pub(crate) fn array(self, length: usize) -> Result<Js> {
        make!("an array", |out| sys::napi_create_array_with_length(
            self.env, length, &mut out
        ))
    }

    /// Returns the symbol that every copy of the façade in this process knows by `name`.
    pub(crate) fn shared_symbol(self, name: &str) -> Result<Js> {
        make!("a symbol", |out| sys::node_api_symbol_for(
            self.env,
            name.as_ptr().cast(),
            name.len() as isize,
            &mut out
        ))
    }

    pub(crate) fn set(self, object: Js, key: Js, value: Js) -> Result<()> {
        // SAFETY: see the module; the three handles are of this callback.
        let status = unsafe { sys::napi_set_property(self.env, object, key, value) };
        check_status!(status, "setting a property")
    }

    pub(crate) fn set_named(self, object: Js, key: &str, value: Js) -> Result<()> {
        let name = self.text(key)?;
        if key == "__proto__" {
            // An assignment would change what the object is; a definition makes a property like any other.
            return self.define(object, name, value);
        }
        self.set(object, name, value)
    }

    fn define(self, object: Js, name: Js, value: Js) -> Result<()> {
        let descriptor = sys::napi_property_descriptor {
            utf8name: ptr::null(),
            name,
            method: None,
            getter: None,
            setter: None,
            value,
            attributes: sys::PropertyAttributes::writable
                | sys::PropertyAttributes::enumerable
                | sys::PropertyAttributes::configurable,
            data: ptr::null_mut(),
        };
        // SAFETY: see the module; the one descriptor outlives the call.
        let status = unsafe { sys::napi_define_properties(self.env, object, 1, &descriptor) };
        check_status!(status, "defining a property")
    }

    pub(crate) fn set_element(self, array: Js, index: usize, value: Js) -> Result<()> {
        let index = u32::try_from(index).map_err(|_| napi::Error::from_reason("the array is too long"))?;
        // SAFETY: see the module; the handles are of this callback.
        let status = unsafe { sys::napi_set_element(self.env, array, index, value) };
        check_status!(status, "setting an element")
    }

    pub(crate) fn get(self, object: Js, key: Js) -> Result<Js> {
        make!("reading a property", |out| sys::napi_get_property(
            self.env, object, key, &mut out
        ))
    }

    pub(crate) fn get_named(self, object: Js, key: &str) -> Result<Js> {
        self.get(object, self.text(key)?)
    }

    pub(crate) fn element(self, array: Js, index: u32) -> Result<Js> {
        make!("reading an element", |out| sys::napi_get_element(
            self.env, array, index, &mut out
        ))
    }

    pub(crate) fn length(self, array: Js) -> Result<u32> {
        let mut length = 0;
        // SAFETY: see the module; `length` outlives the call.
        let status = unsafe { sys::napi_get_array_length(self.env, array, &mut length) };
        check_status!(status, "reading a length")?;
        Ok(length)
    }

    pub(crate) fn kind(self, value: Js) -> Result<sys::napi_valuetype> {
        let mut kind = 0;
        // SAFETY: see the module; `kind` outlives the call.
        let status = unsafe { sys::napi_typeof(self.env, value, &mut kind) };
        check_status!(status, "reading a type")?;
        Ok(kind)
    }

    /// Returns the names of the object's own enumerable properties, as an array.
    pub(crate) fn own_names(self, object: Js) -> Result<Js> {
        make!("reading names", |out| sys::napi_get_all_property_names(
            self.env,
            object,
            sys::KeyCollectionMode::own_only,
            sys::KeyFilter::enumerable | sys::KeyFilter::skip_symbols,
            sys::KeyConversion::numbers_to_strings,
            &mut out
        ))
    }

    pub(crate) fn as_bool(self, value: Js) -> Result<bool> {
        let mut result = false;
        // SAFETY: see the module; `result` outlives the call.
        let status = unsafe { sys::napi_get_value_bool(self.env, value, &mut result) };
        check_status!(status, "reading a boolean")?;
        Ok(result)
    }

    pub(crate) fn as_number(self, value: Js) -> Result<f64> {
        let mut result = 0.0;
        // SAFETY: see the module; `result` outlives the call.
        let status = unsafe { sys::napi_get_value_double(self.env, value, &mut result) };
        check_status!(status, "reading a number")?;
        Ok(result)
    }

    /// Reads a text and hands it to `take`; short ones are copied once, onto the stack.
    pub(crate) fn with_text<T>(self, value: Js, take: impl FnOnce(&str) -> T) -> Result<T> {
        let mut short = [0_u8; SHORT_TEXT];
        let length = self.copy_text(value, &mut short)?;
        // A cut text ends at a character's border, so it may miss up to four bytes and the final zero.
        if length + 5 < SHORT_TEXT {
            return Ok(take(&String::from_utf8_lossy(&short[..length])));
        }
        let mut total = 0;
        // SAFETY: a null buffer asks for the length only; `total` outlives the call.
        let status =
            unsafe { sys::napi_get_value_string_utf8(self.env, value, ptr::null_mut(), 0, &mut total) };
        check_status!(status, "reading a text")?;
        let mut long = vec![0_u8; total + 1];
        let length = self.copy_text(value, &mut long)?;
        Ok(take(&String::from_utf8_lossy(&long[..length])))
    }

    fn copy_text(self, value: Js, buffer: &mut [u8]) -> Result<usize> {
        let mut length = 0;
        // SAFETY: the buffer's own length is given, and `length` outlives the call.
        let status = unsafe {
            sys::napi_get_value_string_utf8(
                self.env,
                value,
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                &mut length,
            )
        };
        check_status!(status, "reading a text")?;
        Ok(length)
    }

    pub(crate) fn as_text(self, value: Js) -> Result<String> {
        self.with_text(value, str::to_owned)
    }

    /// Tells whether two handles are of the same object.
    pub(crate) fn is_same(self, one: Js, other: Js) -> Result<bool> {
        let mut same = false;
        // SAFETY: see the module; both handles are of this callback, and `same` outlives the call.
        let status = unsafe { sys::napi_strict_equals(self.env, one, other, &mut same) };
        check_status!(status, "comparing objects")?;
        Ok(same)
    }

    pub(crate) fn is_array(self, value: Js) -> Result<bool> {
        let mut result = false;
        // SAFETY: see the module; `result` outlives the call.
        let status = unsafe { sys::napi_is_array(self.env, value, &mut result) };
        check_status!(status, "telling arrays")?;
        Ok(result)
    }

    /// Returns a copy of the bytes of a `Buffer` or `Uint8Array`; `None` for anything else.
    pub(crate) fn as_bytes(self, value: Js) -> Result<Option<bytes::Bytes>> {
        let mut matches = false;
        // SAFETY: see the module; `matches` outlives the call.
        let status = unsafe { sys::napi_is_buffer(self.env, value, &mut matches) };
        check_status!(status, "telling buffers")?;
        if !matches {
            return Ok(None);
        }
        let (mut data, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the value is a buffer; both results outlive the call.
        let status = unsafe { sys::napi_get_buffer_info(self.env, value, &mut data, &mut length) };
        check_status!(status, "reading a buffer")?;
        if length == 0 || data.is_null() {
            return Ok(Some(bytes::Bytes::new()));
        }
        // SAFETY: Node keeps `length` bytes at `data` alive and unmoved while no JavaScript runs, as now.
        let content = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
        Ok(Some(bytes::Bytes::copy_from_slice(content)))
    }

    pub(crate) fn is_date(self, value: Js) -> Result<bool> {
        let mut result = false;
        // SAFETY: see the module; `result` outlives the call.
        let status = unsafe { sys::napi_is_date(self.env, value, &mut result) };
        check_status!(status, "telling dates")?;
        Ok(result)
    }

    pub(crate) fn is_promise(self, value: Js) -> Result<bool> {
        let mut result = false;
        // SAFETY: see the module; `result` outlives the call.
        let status = unsafe { sys::napi_is_promise(self.env, value, &mut result) };
        check_status!(status, "telling promises")?;
        Ok(result)
    }

    /// Calls a function without `this`.
    pub(crate) fn call(self, function: Js, arguments: &[Js]) -> Result<Js> {
        let this = self.undefined()?;
        make!("calling back", |out| sys::napi_call_function(
            self.env,
            this,
            function,
            arguments.len(),
            arguments.as_ptr(),
            &mut out
        ))
    }

    /// Runs `work` with handles of its own, which are gone afterwards: what it makes must be stored in something older.
    pub(crate) fn nested(self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut scope = ptr::null_mut();
        // SAFETY: see the module; `scope` outlives the call and is closed below.
        let status = unsafe { sys::napi_open_handle_scope(self.env, &mut scope) };
        check_status!(status, "opening a scope")?;
        let result = work();
        // SAFETY: the scope was opened just above and is the innermost one.
        let status = unsafe { sys::napi_close_handle_scope(self.env, scope) };
        check_status!(status, "closing a scope")?;
        result
    }
}
