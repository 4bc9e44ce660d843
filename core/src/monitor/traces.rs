//! The stack traces of requests whose components and methods are running, by handle. Requests that these make name the
//! handle, so that the records show the lines of the program that caused them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::{resource::SourcePosition, runtime::Random};

/// The stack traces by handle. Cloning is cheap; all clones share them.
#[derive(Clone, Default)]
pub(super) struct StackTraces(Arc<Mutex<FxHashMap<String, Vec<SourcePosition>>>>);

/// The handle of a stack trace, which is known until this is dropped.
pub(super) struct TraceHandle {
    traces: StackTraces,
    handle: String,
}

impl StackTraces {
    /// Returns a handle of the stack trace of a request; one without a trace is known by its position alone.
    pub(super) fn issue(
        &self,
        random: &dyn Random,
        position: &SourcePosition,
        trace: &[SourcePosition],
    ) -> TraceHandle {
        let frames = match trace {
            [] => position.iter().cloned().map(Some).collect(),
            _ => trace.to_vec(),
        };
        let handle = random.uuid();
        self.lock().insert(handle.clone(), frames);
        TraceHandle {
            traces: self.clone(),
            handle,
        }
    }

    /// Returns a stack trace after that of the request with this handle; unchanged for an empty or unknown handle.
    pub(super) fn prepended(&self, handle: &str, own: Vec<SourcePosition>) -> Vec<SourcePosition> {
        if handle.is_empty() {
            return own;
        }
        match self.lock().get(handle) {
            Some(outer) => outer.iter().cloned().chain(own).collect(),
            None => {
                tracing::debug!(handle, "a request names an unknown stack trace");
                own
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, FxHashMap<String, Vec<SourcePosition>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TraceHandle {
    /// Returns the text of the handle.
    pub(super) fn text(&self) -> String {
        self.handle.clone()
    }
}

impl Drop for TraceHandle {
    fn drop(&mut self) {
        self.traces.lock().remove(&self.handle);
    }
}

/// Returns a position for display, `main.py:3`, relative to the folder of the project; `None` for an unknown one.
fn place(position: &SourcePosition) -> Option<String> {
    let text = position.as_ref()?.strip_prefix("project:///")?;
    let (path, fragment) = text.split_once('#').unwrap_or((text, ""));
    let line = fragment.split(',').next().unwrap_or_default();
    Some(match line {
        "" => path.to_owned(),
        line => format!("{path}:{line}"),
    })
}

/// Returns the place of a request for display; of one without a position, the first place in its stack trace that is known and in no
/// installed package. The traces of SDKs begin with the innermost frame, and that of a component with those of the program.
pub(super) fn place_of_use(position: &SourcePosition, trace: &[SourcePosition]) -> Option<String> {
    let in_program = |place: &String| {
        !place
            .split('/')
            .any(|folder| folder == "node_modules" || folder == "site-packages")
    };
    place(position).or_else(|| trace.iter().filter_map(place).find(in_program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SeededRandom;

    fn position(text: &str) -> SourcePosition {
        Some(text.into())
    }

    #[test]
    fn the_trace_of_an_outer_request_precedes_that_of_an_inner_one_while_the_handle_is_held() {
        let (traces, random) = (StackTraces::default(), SeededRandom::new(7));
        let outer = [position("project:///main.py#1"), None];
        let handle = traces.issue(&random, &None, &outer);
        let inner = vec![position("project:///component.py#2")];
        let expected = [outer.to_vec(), inner.clone()].concat();
        assert_eq!(traces.prepended(&handle.text(), inner.clone()), expected);
        let text = handle.text();
        drop(handle);
        assert_eq!(
            traces.prepended(&text, inner.clone()),
            inner,
            "the outer request has ended"
        );
        assert_eq!(traces.prepended("", inner.clone()), inner);
    }

    #[test]
    fn a_position_is_shown_with_its_path_and_line() {
        for (recorded, shown) in [
            ("project:///main.py#3,7", Some("main.py:3")),
            ("project:///../lib/box.py#12", Some("../lib/box.py:12")),
            ("project:///main.py", Some("main.py")),
            ("main.py#3", None),
        ] {
            assert_eq!(place(&position(recorded)).as_deref(), shown, "{recorded}");
        }
        assert_eq!(place(&None), None);
        let trace = [
            None,
            position("project:///node_modules/@pulumi/pulumi/resource.js#637"),
            position("project:///../venv/lib/site-packages/pulumi/resource.py#9"),
            position("project:///box.py#7"),
            position("project:///main.py#3"),
        ];
        assert_eq!(place_of_use(&None, &trace).as_deref(), Some("box.py:7"));
        assert_eq!(place_of_use(&None, &trace[..3]), None);
        let own = position("project:///own.py#1");
        assert_eq!(place_of_use(&own, &trace).as_deref(), Some("own.py:1"));
    }

    #[test]
    fn a_request_without_a_trace_is_known_by_its_position() {
        let (traces, random) = (StackTraces::default(), SeededRandom::new(7));
        let handle = traces.issue(&random, &position("project:///main.py#1"), &[]);
        assert_eq!(
            traces.prepended(&handle.text(), Vec::new()),
            [position("project:///main.py#1")]
        );
        let handle = traces.issue(&random, &None, &[]);
        assert_eq!(traces.prepended(&handle.text(), Vec::new()), []);
    }
}
