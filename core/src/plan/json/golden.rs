//! Plans of the reference engine: a document that is read is written again, byte for byte.

use std::sync::Arc;

use super::{read, write};
use crate::{
    plan::{Plan, PlanConfig},
    property::PropertyValue,
    secrets::{PassphraseProvider, SecretsProvider},
    state::deployment::{SecretsAccess, read_checkpoint},
    step::StepOp,
    urn::Urn,
};

const CREATED: &[u8] = include_bytes!("../../../tests/fixtures/states/1-created/checkpoint.json");
const FIRST: &str = include_str!("../../../tests/fixtures/states/1-plan.json");
const SECOND: &str = include_str!("../../../tests/fixtures/states/2-plan.json");

async fn plans() -> (Plan, Plan) {
    let runtime = crate::runtime::Runtime::system(tokio::runtime::Handle::current());
    let provider: Arc<dyn SecretsProvider> = Arc::new(PassphraseProvider::new("correct horse", runtime));
    let created = read_checkpoint(CREATED, SecretsAccess::Open(&*provider), true)
        .await
        .unwrap();
    let manager = created.snapshot.unwrap().secrets;
    let first = read(FIRST, manager.as_ref(), &provider).await.unwrap();
    let second = read(SECOND, manager.as_ref(), &provider).await.unwrap();
    (first, second)
}

fn urn(rest: &str) -> Urn {
    Urn::parse(&format!("urn:pulumi:dev::fixtures::{rest}")).unwrap()
}

#[tokio::test]
async fn the_reference_s_plans_are_read_whole_and_written_as_they_were() {
    let (first, second) = plans().await;
    // Ciphertexts are cached, so that they are the same as well.
    assert_eq!(write(&first).await.unwrap(), FIRST);
    assert_eq!(write(&second).await.unwrap(), SECOND);

    let random = second
        .resource(&urn("testprovider:index:Random::random"))
        .unwrap();
    let replaced = [StepOp::CreateReplacement, StepOp::Replace, StepOp::DeleteReplaced];
    assert_eq!(random.steps, replaced);
    assert_eq!(random.seed.as_ref().map(Vec::len), Some(32));
    let goal = random.goal.as_ref().unwrap();
    assert_eq!(goal.input_diff.updates.get("length"), Some(&12.0.into()));

    let depends = second
        .resource(&urn("testprovider:index:Echo::depends-on-random"))
        .unwrap();
    let updates = &depends.goal.as_ref().unwrap().input_diff.updates;
    assert!(matches!(updates.get("echo"), Some(PropertyValue::Unknown(_))));

    let hidden = first.resource(&urn("testprovider:index:Echo::secrets")).unwrap();
    let echo = hidden.goal.as_ref().unwrap().input_diff.adds.get("echo").unwrap();
    let PropertyValue::Object(echo) = echo else {
        panic!("{echo:?}")
    };
    assert_eq!(
        echo.get("whole"),
        Some(&PropertyValue::secret("top-secret-1".into()))
    );

    let deleted = second
        .resource(&urn("testprovider:index:Echo::to-be-deleted"))
        .unwrap();
    assert_eq!((&deleted.goal, &deleted.outputs), (&None, &None));
    assert!(matches!(&first.config, PlanConfig::Read(config) if config["fixtures:phase"] == "1"));
}
