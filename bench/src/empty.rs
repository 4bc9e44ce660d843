//! `empty.preview`: milliseconds of a preview of an empty program, in an engine that has run operations before.

use stackwright::{Result, operation::OperationKind, program::from_fn};

use crate::{
    figure::{Selection, Stopwatch},
    stack,
};

const ROUNDS: usize = 101;

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    stack::executor()?.block_on(async {
        let folder = stack::folder()?;
        let engine = stack::instant_engine(folder.path())?;
        let thing = stack::open(&engine, "bench/dev").await?;
        let program = from_fn(|_| async { Ok(()) });
        let mut times = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let watch = Stopwatch::start();
            stack::run(
                &thing,
                OperationKind::Update,
                stack::unbounded().preview(),
                Some(program.clone()),
            )
            .await?;
            times.push(watch.seconds() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        selection.print("empty.preview", times[ROUNDS / 2], "ms")
    })
}
