//! Every rule of the conformance list, group by group.

use anyhow::{ensure, Context, Result};
use ferroce_conformance::{groups, Stage};
use ferroce_tests::model;
use ferroce_tests::seed::seed;

/// Checks all rules of a group.
fn check(name: &str) -> Result<()> {
    let group = groups().iter().find(|group| group.name == name);
    let group = group.context("no such group")?;
    let mut stage = Stage::new(model::small()?, seed());
    let failures: Vec<_> = group
        .rules
        .iter()
        .filter_map(|rule| Some(format!("{:#}", stage.run(rule).err()?)))
        .collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

macro_rules! groups {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() -> Result<()> {
                check(stringify!($name))
            }
        )*

        #[test]
        fn every_group_has_a_test() {
            let names: Vec<_> = groups().iter().map(|group| group.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

groups!(frames headers requests reads receiver requester retries);
