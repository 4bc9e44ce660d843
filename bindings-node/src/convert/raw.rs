//! Safe wrappers of the Node-API calls that conversions use.
//!
//! A [`Scope`] is made on the JavaScript thread, inside a callback, and never leaves it, which makes each call below
//! sound. Handles ([`Js`]) live as long as that callback.

use std::ptr;

use napi::{Error, Result, Status, sys};

/// A handle of a JavaScript value; valid inside the callback that made it.
pub(crate) type Js = sys::napi_value;

/// The JavaScript environment during one callback.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    env: sys::napi_env,
}

/// The reason of an error whose exception has no readable text.
const UNREADABLE: &str = "it threw a value without a readable text";

/// The size in bytes of the stack buffer for texts; longer ones need a second call for their length.
const SHORT_TEXT_CAPACITY: usize = 256;

macro_rules! make {
    ($scope:expr, $what:literal, |$out:ident| $call:expr) => {{
        let mut $out = ptr::null_mut();
        // SAFETY: the environment is alive and on its own thread (see the module), and `$out` outlives the call.
        let status = unsafe { $call };
        $scope.check(status, $what)?;
        Ok($out)
    }};
}

impl Scope {
    /// Wraps the environment of the running callback.
    pub(crate) const fn new(env: sys::napi_env) -> Self {
        Self { env }
    }

    /// Converts a call's status to a result. An exception of JavaScript code (a getter, a proxy's trap) becomes the
    /// error and is cleared, so that later calls work and nothing is thrown when the callback returns.
    fn check(self, status: sys::napi_status, what: &str) -> Result<()> {
        if status == sys::Status::napi_ok {
            return Ok(());
        }
        // The status is arbitrary when JavaScript code has thrown: the exception is the reason.
        match self.take_pending() {
            Some(thrown) => {
                let text = self.text_of_thrown(thrown);
                let text = text.map_or(UNREADABLE.to_owned(), |text| format!("it threw: {text}"));
                Err(Error::new(
                    Status::GenericFailure,
                    format!("{what} failed, {text}"),
                ))
            }
            None => Err(Error::new(Status::from(status), what.to_owned())),
        }
    }

    /// Returns the text of a thrown value.
    fn text_of_thrown(self, thrown: Js) -> Option<String> {
        if self.kind(thrown).ok()? == sys::ValueType::napi_string {
            return self.as_text(thrown).ok();
        }
        let mut is_error = false;
        // SAFETY: see the module; `is_error` outlives the call.
        let status = unsafe { sys::napi_is_error(self.env, thrown, &mut is_error) };
        if status != sys::Status::napi_ok || !is_error {
            return None;
        }
        let (mut message, name) = (ptr::null_mut(), self.text("message").ok()?);
        // SAFETY: see the module; `message` outlives the call.
        let status = unsafe { sys::napi_get_property(self.env, thrown, name, &mut message) };
        if status != sys::Status::napi_ok {
            // The message is a getter that throws as well.
            self.take_pending();
            return None;
        }
        self.as_text(message).ok()
    }

    fn take_pending(self) -> Option<Js> {
        let mut is_pending = false;
        // SAFETY: see the module; `is_pending` outlives the call.
        let status = unsafe { sys::napi_is_exception_pending(self.env, &mut is_pending) };
        if status != sys::Status::napi_ok || !is_pending {
            return None;
        }
        let mut thrown = ptr::null_mut();
        // SAFETY: see the module; `thrown` outlives the call.
        let status = unsafe { sys::napi_get_and_clear_last_exception(self.env, &mut thrown) };
        (status == sys::Status::napi_ok).then_some(thrown)
    }

    pub(crate) fn undefined(self) -> Result<Js> {
        make!(self, "undefined", |out| sys::napi_get_undefined(
            self.env, &mut out
        ))
    }

    pub(crate) fn null(self) -> Result<Js> {
        make!(self, "null", |out| sys::napi_get_null(self.env, &mut out))
    }

    pub(crate) fn boolean(self, value: bool) -> Result<Js> {
        make!(self, "a boolean", |out| sys::napi_get_boolean(
            self.env, value, &mut out
        ))
    }

    pub(crate) fn number(self, value: f64) -> Result<Js> {
        make!(self, "a number", |out| sys::napi_create_double(
            self.env, value, &mut out
        ))
    }

    pub(crate) fn text(self, value: &str) -> Result<Js> {
        make!(self, "a text", |out| sys::napi_create_string_utf8(
            self.env,
            value.as_ptr().cast(),
            value.len() as isize,
            &mut out
        ))
    }

    pub(crate) fn bytes(self, value: &[u8]) -> Result<Js> {
        make!(self, "bytes", |out| sys::napi_create_buffer_copy(
            self.env,
            value.len(),
            value.as_ptr().cast(),
            ptr::null_mut(),
            &mut out
        ))
    }

    pub(crate) fn object(self) -> Result<Js> {
        make!(self, "an object", |out| sys::napi_create_object(
            self.env, &mut out
        ))
    }

    pub(crate) fn array(self, length: usize) -> Result<Js> {
        make!(self, "an array", |out| sys::napi_create_array_with_length(
            self.env, length, &mut out
        ))
    }

    /// Returns the symbol `name` that all copies of the package in this process share.
    pub(crate) fn shared_symbol(self, name: &str) -> Result<Js> {
        make!(self, "a symbol", |out| sys::node_api_symbol_for(
            self.env,
            name.as_ptr().cast(),
            name.len() as isize,
            &mut out
        ))
    }

    pub(crate) fn set(self, object: Js, key: Js, value: Js) -> Result<()> {
        // SAFETY: see the module; the three handles are of this callback.
        let status = unsafe { sys::napi_set_property(self.env, object, key, value) };
        self.check(status, "setting a property")
    }

    pub(crate) fn set_named(self, object: Js, key: &str, value: Js) -> Result<()> {
        let name = self.text(key)?;
        if key == "__proto__" {
            // An assignment would set the prototype; a definition makes an ordinary property.
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
        self.check(status, "defining a property")
    }

    pub(crate) fn set_element(self, array: Js, index: usize, value: Js) -> Result<()> {
        let index = u32::try_from(index).map_err(|_| Error::from_reason("the array is too long"))?;
        // SAFETY: see the module; the handles are of this callback.
        let status = unsafe { sys::napi_set_element(self.env, array, index, value) };
        self.check(status, "setting an element")
    }

    pub(crate) fn get(self, object: Js, key: Js) -> Result<Js> {
        make!(self, "reading a property", |out| sys::napi_get_property(
            self.env, object, key, &mut out
        ))
    }

    pub(crate) fn get_named(self, object: Js, key: &str) -> Result<Js> {
        self.get(object, self.text(key)?)
    }

    pub(crate) fn element(self, array: Js, index: u32) -> Result<Js> {
        make!(self, "reading an element", |out| sys::napi_get_element(
            self.env, array, index, &mut out
        ))
    }

    pub(crate) fn length(self, array: Js) -> Result<u32> {
        let mut length = 0;
        // SAFETY: see the module; `length` outlives the call.
        let status = unsafe { sys::napi_get_array_length(self.env, array, &mut length) };
        self.check(status, "reading a length")?;
        Ok(length)
    }

    pub(crate) fn kind(self, value: Js) -> Result<sys::napi_valuetype> {
        let mut kind = 0;
        // SAFETY: see the module; `kind` outlives the call.
        let status = unsafe { sys::napi_typeof(self.env, value, &mut kind) };
        self.check(status, "reading a type")?;
        Ok(kind)
    }

    /// Returns the names of the object's own enumerable properties, as an array.
    pub(crate) fn own_names(self, object: Js) -> Result<Js> {
        make!(self, "reading names", |out| sys::napi_get_all_property_names(
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
        self.check(status, "reading a boolean")?;
        Ok(result)
    }

    pub(crate) fn as_number(self, value: Js) -> Result<f64> {
        let mut result = 0.0;
        // SAFETY: see the module; `result` outlives the call.
        let status = unsafe { sys::napi_get_value_double(self.env, value, &mut result) };
        self.check(status, "reading a number")?;
        Ok(result)
    }

    /// Reads a text and passes it to `take`; short ones are copied once, onto the stack.
    ///
    /// # Errors
    ///
    /// The text has a lone surrogate, which UTF-8 cannot represent.
    pub(crate) fn with_text<T>(self, value: Js, take: impl FnOnce(&str) -> T) -> Result<T> {
        let mut short = [0_u8; SHORT_TEXT_CAPACITY];
        let length = self.copy_text(value, &mut short)?;
        // A cut text ends at a character's border, so it may miss up to four bytes and the final zero.
        if length + 5 < SHORT_TEXT_CAPACITY {
            let text = String::from_utf8_lossy(&short[..length]);
            self.refuse_lone_surrogates(value, &text)?;
            return Ok(take(&text));
        }
        let mut total = 0;
        // SAFETY: a null buffer asks for the length only; `total` outlives the call.
        let status =
            unsafe { sys::napi_get_value_string_utf8(self.env, value, ptr::null_mut(), 0, &mut total) };
        self.check(status, "reading a text")?;
        let mut long = vec![0_u8; total + 1];
        let length = self.copy_text(value, &mut long)?;
        let text = String::from_utf8_lossy(&long[..length]);
        self.refuse_lone_surrogates(value, &text)?;
        Ok(take(&text))
    }

    /// Rejects lone surrogates. Node replaces them by U+FFFD, so a text with that character is read again as UTF-16.
    fn refuse_lone_surrogates(self, value: Js, text: &str) -> Result<()> {
        if !text.contains(char::REPLACEMENT_CHARACTER) {
            return Ok(());
        }
        let mut length = 0;
        // SAFETY: a null buffer asks for the length only; `length` outlives the call.
        let status =
            unsafe { sys::napi_get_value_string_utf16(self.env, value, ptr::null_mut(), 0, &mut length) };
        self.check(status, "reading a text")?;
        let mut units = vec![0_u16; length + 1];
        // SAFETY: the buffer's own length is given, and `length` outlives the call.
        let status = unsafe {
            sys::napi_get_value_string_utf16(self.env, value, units.as_mut_ptr(), units.len(), &mut length)
        };
        self.check(status, "reading a text")?;
        let lone = char::decode_utf16(units.into_iter().take(length)).find_map(std::result::Result::err);
        lone.map_or(Ok(()), |lone| {
            let unit = lone.unpaired_surrogate();
            let reason = format!(
                "a text with the lone surrogate U+{unit:04X}, which UTF-8 cannot represent, is not a value"
            );
            Err(Error::new(Status::InvalidArg, reason))
        })
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
        self.check(status, "reading a text")?;
        Ok(length)
    }

    pub(crate) fn as_text(self, value: Js) -> Result<String> {
        self.with_text(value, str::to_owned)
    }

    /// Returns whether two handles refer to the same object.
    pub(crate) fn is_same(self, one: Js, other: Js) -> Result<bool> {
        let mut same = false;
        // SAFETY: see the module; both handles are of this callback, and `same` outlives the call.
        let status = unsafe { sys::napi_strict_equals(self.env, one, other, &mut same) };
        self.check(status, "comparing objects")?;
        Ok(same)
    }

    pub(crate) fn is_array(self, value: Js) -> Result<bool> {
        let mut result = false;
        // SAFETY: see the module; `result` outlives the call.
        let status = unsafe { sys::napi_is_array(self.env, value, &mut result) };
        self.check(status, "testing for an array")?;
        Ok(result)
    }

    /// Returns a copy of the bytes of a `Buffer` or `Uint8Array`; `None` for anything else.
    pub(crate) fn as_bytes(self, value: Js) -> Result<Option<bytes::Bytes>> {
        let mut matches = false;
        // SAFETY: see the module; `matches` outlives the call.
        let status = unsafe { sys::napi_is_buffer(self.env, value, &mut matches) };
        self.check(status, "testing for a buffer")?;
        if !matches {
            return Ok(None);
        }
        let (mut data, mut length) = (ptr::null_mut(), 0);
        // SAFETY: the value is a buffer; both results outlive the call.
        let status = unsafe { sys::napi_get_buffer_info(self.env, value, &mut data, &mut length) };
        self.check(status, "reading a buffer")?;
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
        self.check(status, "testing for a date")?;
        Ok(result)
    }

    pub(crate) fn is_promise(self, value: Js) -> Result<bool> {
        let mut result = false;
        // SAFETY: see the module; `result` outlives the call.
        let status = unsafe { sys::napi_is_promise(self.env, value, &mut result) };
        self.check(status, "testing for a promise")?;
        Ok(result)
    }

    /// Calls a function without `this`.
    pub(crate) fn call(self, function: Js, arguments: &[Js]) -> Result<Js> {
        let this = self.undefined()?;
        make!(self, "calling back", |out| sys::napi_call_function(
            self.env,
            this,
            function,
            arguments.len(),
            arguments.as_ptr(),
            &mut out
        ))
    }

    /// Runs `work` in a handle scope of its own. Its handles are invalid afterwards unless an older object owns them.
    pub(crate) fn nested(self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut scope = ptr::null_mut();
        // SAFETY: see the module; `scope` outlives the call and is closed below.
        let status = unsafe { sys::napi_open_handle_scope(self.env, &mut scope) };
        self.check(status, "opening a scope")?;
        let result = work();
        // SAFETY: the scope was opened just above and is the innermost one.
        let status = unsafe { sys::napi_close_handle_scope(self.env, scope) };
        self.check(status, "closing a scope")?;
        result
    }
}
