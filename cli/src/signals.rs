//! The signals of the process: the first one cancels, the second one abandons, the third one ends the process.

use std::{io, thread};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Handle,
    low_level::emulate_default_handler,
};
use stackwright_command::Cancellation;

use crate::streams::Stream;

/// The number of the signal that ends the process in any case.
const LAST_SIGNAL: usize = 3;
const CANCELLING: &str =
    "cancelling: running steps complete and are recorded; a second interrupt abandons them\n";
const ABANDONING: &str = "cancelling: running steps are abandoned; a third interrupt ends the process\n";

/// Handles signals until it is closed.
pub(crate) struct Signals(Handle);

impl Signals {
    /// Begins to handle signals; `notes` receives what they have done.
    pub(crate) fn handle(cancellation: Cancellation, notes: Option<Stream>) -> io::Result<Self> {
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
        let handle = signals.handle();
        let follow = move || {
            for (index, signal) in signals.forever().enumerate() {
                let is_last = index + 1 >= LAST_SIGNAL;
                if is_last || (index == 0 && !cancellation.is_awaited()) {
                    // It does not return: the default of both is the end of the process.
                    drop(emulate_default_handler(signal));
                }
                cancellation.cancel();
                if let Some(notes) = &notes {
                    notes.write(if index == 0 { CANCELLING } else { ABANDONING });
                }
            }
        };
        drop(thread::Builder::new().name("signals".to_owned()).spawn(follow)?);
        Ok(Self(handle))
    }

    /// Ends the handling.
    pub(crate) fn close(self) {
        self.0.close();
    }
}
