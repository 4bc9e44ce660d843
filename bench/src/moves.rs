//! `moves.5000`: milliseconds that suggested moves add to a preview which deletes 5,000 resources and creates as many;
//! `moves.equal_inputs.5000`: the same where all resources have equal inputs.

use std::sync::Arc;

use stackwright::{
    Error, Result, Stack,
    operation::OperationKind,
    program::{Program, from_fn},
};

use crate::{
    figure::{Selection, Stopwatch},
    stack,
};

const ROUNDS: usize = 5;
const COUNT: usize = 5000;

/// Which inputs the resources of a program have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inputs {
    Equal,
    Other,
}

/// Returns a program that registers resources whose names begin with `prefix`, of the type `kind`.
fn program(prefix: &'static str, kind: &'static str, inputs: Inputs) -> Arc<dyn Program> {
    from_fn(move |context| async move {
        let mut answers = Vec::with_capacity(COUNT);
        for number in 0..COUNT {
            let numbered = if inputs == Inputs::Equal { 0 } else { number };
            let mut registration = stack::registration(number, stack::inputs(numbered), Vec::new());
            registration.name = format!("{prefix}-{number}");
            registration.resource_type = kind.into();
            answers.push(context.monitor.register(registration));
        }
        for answer in answers {
            answer.await?;
        }
        Ok(())
    })
}

/// Returns the median of the milliseconds of a preview that suggests `expected` moves.
async fn preview(opened: &Stack, program: Arc<dyn Program>, expected: usize) -> Result<f64> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let watch = Stopwatch::start();
        let options = stack::unbounded().preview();
        let result = stack::run(opened, OperationKind::Update, options, Some(Arc::clone(&program))).await?;
        times.push(watch.seconds() * 1000.0);
        let found = result.suggested_moves.len();
        if found != expected {
            return Err(Error::invalid(format!("{found} moves, not {expected}")));
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[ROUNDS / 2])
}

pub(crate) fn measure(selection: &Selection) -> Result<()> {
    stack::executor()?.block_on(async {
        for (name, inputs) in [
            ("moves.5000", Inputs::Other),
            ("moves.equal_inputs.5000", Inputs::Equal),
        ] {
            if !selection.selects(name) {
                continue;
            }
            let folder = stack::folder()?;
            let engine = stack::instant_engine(folder.path())?;
            let opened = stack::open(&engine, "bench/dev").await?;
            let recorded = program("before", "bench:index:Thing", inputs);
            stack::run(&opened, OperationKind::Update, stack::unbounded(), Some(recorded)).await?;
            let unlike = preview(&opened, program("after", "bench:index:Other", inputs), 0).await?;
            let alike = preview(&opened, program("after", "bench:index:Thing", inputs), COUNT).await?;
            selection.print(name, (alike - unlike).max(0.0), "ms")?;
        }
        Ok(())
    })
}
