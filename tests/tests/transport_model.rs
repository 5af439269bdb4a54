//! Cards against the software model of the transport, which was written from the standard: random work, random misfortune, and every
//! answer, completion and byte predicted.

use anyhow::{ensure, Context, Result};
use ferroce_tests::judge::Judge;
use ferroce_tests::shadow::Shadow;
use ferroce_tests::{model, seed};

/// Bursts of packets in a run.
const STEPS: usize = 60;

#[test]
fn a_responder_answers_as_the_model_does() -> Result<()> {
    let library = model::small()?;
    let first = seed::seed();
    for round in 0..seed::rounds(12, 400) {
        let seed = first.wrapping_add(round);
        let run = || -> Result<()> {
            let mut shadow = Shadow::new(&library, seed)?;
            for step in 0..STEPS {
                shadow.step().with_context(|| format!("step {step}"))?;
            }
            shadow.check_memory()
        };
        run().with_context(|| format!("FERROCE_SEED={seed}"))?;
    }
    Ok(())
}

/// Messages in a run.
const MESSAGES: usize = 60;

#[test]
fn a_requester_sends_what_the_model_expects() -> Result<()> {
    let library = model::small()?;
    let first = seed::seed();
    let mut go_backs = 0;
    let rounds = seed::rounds(12, 400);
    for round in 0..rounds {
        let seed = first.wrapping_add(round);
        let mut run = || -> Result<()> {
            let mut judge = Judge::new(&library, seed)?;
            judge.run(MESSAGES)?;
            judge.is_quiet()?;
            judge.end()?;
            judge.is_quiet()?;
            go_backs += judge.go_backs;
            Ok(())
        };
        run().with_context(|| format!("FERROCE_SEED={seed}"))?;
    }
    ensure!(go_backs > 0, "{rounds} runs without a go-back");
    Ok(())
}
