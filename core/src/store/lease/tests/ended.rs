//! Leases whose holders have ended, or whose releases have failed, and how long others look.

use super::*;

/// Returns two engines of this host, each with its records.
fn neighbours(store: &MemoryStore, runtime: &Runtime) -> [(Leases, Arc<Records>); 2] {
    let system = HostFacts::system().system;
    [host(store, runtime, &system), host(store, runtime, &system)]
}

#[tokio::test]
async fn a_lease_whose_release_failed_is_free_for_its_own_engine_at_once_and_for_its_host_when_it_expires() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    for is_own in [true, false] {
        let [(one, records), (other, _)] = neighbours(&store, &runtime);
        let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
        records.is_cut.store(true, Ordering::SeqCst);
        guard.release().await;
        let begin = runtime.clock.elapsed();
        if is_own {
            records.is_cut.store(false, Ordering::SeqCst);
            let next = one.take(NAME, Some(UPDATE)).await.unwrap();
            assert!(runtime.clock.elapsed() - begin < Duration::from_secs(1));
            next.release().await;
            continue;
        }
        let error = other.take(NAME, Some(UPDATE)).await.map(drop).unwrap_err();
        let hints = error.hints().join("; ");
        assert!(
            hints.contains("unlock") && hints.contains("break_lock"),
            "{hints}"
        );
        assert_eq!(runtime.clock.elapsed(), begin, "it seems to be renewed still");
        runtime.clock.wait(DEFAULT_LENGTH).await;
        other.take(NAME, Some(UPDATE)).await.unwrap().release().await;
        assert!(runtime.clock.elapsed() - begin <= DEFAULT_LENGTH * 2 + DEFAULT_LENGTH / LOOKS);
    }
}

#[tokio::test]
async fn a_failed_release_is_repeated_until_the_store_answers_again() {
    for keeps in [false, true] {
        let runtime = runtime();
        let store = MemoryStore::new(runtime.clone());
        let [(one, records), (other, _)] = neighbours(&store, &runtime);
        records.keeps_released.store(keeps, Ordering::SeqCst);
        let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
        // A write of the checkpoint had no answer: also the late release states it.
        one.expect_written(CHECKPOINT);
        records.is_cut.store(true, Ordering::SeqCst);
        guard.release().await;
        runtime.clock.wait(DEFAULT_LENGTH * 100).await;
        records.is_cut.store(false, Ordering::SeqCst);
        runtime.clock.wait(DEFAULT_LENGTH).await;
        let begin = runtime.clock.elapsed();
        let taken = other.take(NAME, Some(UPDATE)).await.unwrap();
        assert_eq!(runtime.clock.elapsed(), begin, "it was released");
        assert_eq!(taken.is_unfenced(), keeps);
        taken.release().await;
        assert!(one.abandoned.is_empty());
    }
}

#[tokio::test]
async fn a_failed_release_ends_with_the_successor_and_with_the_engine() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let [(one, records), (other, _)] = neighbours(&store, &runtime);
    let fail = async || {
        let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
        records.is_cut.store(true, Ordering::SeqCst);
        guard.release().await;
    };
    fail().await;
    runtime.clock.wait(DEFAULT_LENGTH).await;
    let taken = other.take(NAME, Some(UPDATE)).await.unwrap();
    records.is_cut.store(false, Ordering::SeqCst);
    runtime.clock.wait(DEFAULT_LENGTH).await;
    assert!(one.abandoned.is_empty());
    assert!(other.check(CHECKPOINT).await.unwrap().is_some());
    taken.release().await;
    fail().await;
    let tasks = Arc::strong_count(&records);
    drop(one);
    runtime.clock.wait(DEFAULT_LENGTH).await;
    assert!(Arc::strong_count(&records) < tasks - 1, "the task has ended, too");
}

#[tokio::test]
async fn the_lease_of_an_ended_operation_is_freed_on_request_and_that_of_a_running_one_stays() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    for system in ["one".to_owned(), HostFacts::system().system] {
        let ((one, records), (other, _)) = (host(&store, &runtime, &system), host(&store, &runtime, &system));
        let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
        assert!(!one.break_ended(NAME).await.unwrap() && !other.break_ended(NAME).await.unwrap());
        one.confirm(CHECKPOINT).await.unwrap();
        records.is_cut.store(true, Ordering::SeqCst);
        guard.release().await;
        runtime.clock.wait(DEFAULT_LENGTH).await;
        assert!(other.break_ended(NAME).await.unwrap());
        assert!(!other.break_ended(NAME).await.unwrap(), "it is free");
        let begin = runtime.clock.elapsed();
        other.take(NAME, Some(UPDATE)).await.unwrap().release().await;
        assert_eq!(runtime.clock.elapsed(), begin);
    }
}

#[tokio::test]
async fn a_live_process_of_a_system_that_is_unknown_or_of_another_host_keeps_its_lease() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let here = HostFacts::system().system;
    for (system, hostname) in [(" ", None), ("", None), (here.as_str(), Some("elsewhere"))] {
        let ((mut one, _), (other, _)) = (host(&store, &runtime, system), host(&store, &runtime, system));
        // The number of no process of the observer.
        one.holder.pid = u32::MAX;
        if let Some(hostname) = hostname {
            one.facts.hostname = hostname.to_owned();
        }
        let guard = one.take(NAME, Some(UPDATE)).await.unwrap();
        assert!(is_conflict(other.take(NAME, Some(UPDATE)).await), "{system:?}");
        one.confirm(CHECKPOINT).await.unwrap();
        guard.release().await;
    }
}

#[tokio::test]
async fn a_lease_is_observed_no_longer_than_the_purpose_allows() {
    let runtime = runtime();
    let store = MemoryStore::new(runtime.clone());
    let ((one, records), (other, _)) = (host(&store, &runtime, "one"), host(&store, &runtime, "other"));
    let _guard = one.take(NAME, Some(UPDATE)).await.unwrap();
    records.is_cut.store(true, Ordering::SeqCst);
    let patient = |milliseconds| LockPurpose {
        max_wait: Some(Duration::from_millis(milliseconds)),
        ..UPDATE
    };
    for milliseconds in [0, 500, 2500] {
        let begin = runtime.clock.elapsed();
        assert!(is_conflict(other.take(NAME, Some(patient(milliseconds))).await));
        assert_eq!(
            runtime.clock.elapsed() - begin,
            Duration::from_millis(milliseconds)
        );
    }
    let begin = runtime.clock.elapsed();
    other
        .take(NAME, Some(patient(60_000)))
        .await
        .unwrap()
        .release()
        .await;
    assert!(runtime.clock.elapsed() - begin <= DEFAULT_LENGTH * 2);
}
