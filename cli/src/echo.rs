//! Questions for secrets: the terminal does not show what is typed.

use std::{
    io::{self, BufRead as _, Write as _},
    sync::{Mutex, PoisonError},
};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// The settings of the terminal while a question hides what is typed. The terminal is one of the process, and outlives it.
static HIDDEN: Mutex<Option<Termios>> = Mutex::new(None);

/// Shows a question on the standard error and reads a line, which is not shown; `None` at the end of the input.
pub(crate) fn ask(question: &str) -> io::Result<Option<String>> {
    hide()?;
    let mut stderr = io::stderr();
    let shown = stderr
        .write_all(question.as_bytes())
        .and_then(|()| stderr.flush());
    let mut line = String::new();
    let read = shown.and_then(|()| io::stdin().lock().read_line(&mut line));
    restore();
    // The end of the line was not shown either.
    stderr.write_all(b"\n")?;
    Ok((read? > 0).then_some(line))
}

/// Hides what is typed from now on. What was typed before the question is discarded.
fn hide() -> io::Result<()> {
    let mut settings = tcgetattr(io::stdin())?;
    let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    hidden.get_or_insert_with(|| settings.clone());
    settings.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &settings)?;
    Ok(())
}

/// Shows what is typed again, where a question hides it.
pub(crate) fn restore() {
    let shown = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(shown) = shown {
        // Without a terminal there is nothing to restore.
        tcsetattr(io::stdin(), SetArg::TCSANOW, &shown).ok();
    }
}
