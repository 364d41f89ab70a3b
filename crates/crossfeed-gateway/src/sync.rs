//! Locks, counters and tasks of the code that waits.
//!
//! The program uses the standard library's locks and counters, and tokio's tasks. In a model (`explore`),
//! shuttle's take their place and try the interleavings of the very code that runs.

#[cfg(not(test))]
pub(crate) use parking_lot::Mutex;
#[cfg(not(test))]
pub(crate) use std::sync::atomic::AtomicUsize;

#[cfg(test)]
pub(crate) use model::{AtomicUsize, Mutex, explore, join_tasks};

use std::future::Future;
use tokio::{runtime::Handle, task::AbortHandle};

/// Runs a future as a task of its own.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
    #[cfg(test)]
    if model::is_running() {
        model::spawn(work);
        return None;
    }
    Some(tokio::spawn(work).abort_handle())
}

/// The same where there is a runtime; without one, does nothing.
pub(crate) fn spawn_if_possible(work: impl Future<Output = ()> + Send + 'static) {
    if Handle::try_current().is_ok() {
        spawn(work);
    }
}

#[cfg(test)]
mod model {
    use shuttle::{
        Config, Runner,
        future::{JoinHandle, block_on},
        scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler},
    };
    use std::{
        cell::{Cell, RefCell},
        future::Future,
        ops::{Deref, DerefMut},
        sync::{OnceLock, PoisonError, atomic::Ordering},
    };
    use tokio::runtime::{Builder, Runtime};

    thread_local! {
        static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
        static TASKS: RefCell<Vec<JoinHandle<()>>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
        let task = shuttle::future::spawn(work);
        TASKS.with_borrow_mut(|tasks| tasks.push(task));
    }

    /// Waits until every task that the code started has ended.
    pub(crate) fn join_tasks() {
        while let Some(task) = TASKS.with_borrow_mut(Vec::pop) {
            block_on(task).unwrap();
        }
    }

    /// Whether a model runs on this thread.
    pub(super) fn is_running() -> bool {
        IS_RUNNING.get()
    }

    /// Tries the interleavings of a model: the first ones in order, then some at random and by priority. A wake-up
    /// that is lost is a deadlock, which shuttle reports.
    pub(crate) fn explore(model: impl Fn() + Clone + Send + Sync + 'static) {
        const TRIES: usize = 200;
        // Its clock stands still: no time limit ends a wait.
        static CLOCK: OnceLock<Runtime> = OnceLock::new();
        let clock = CLOCK.get_or_init(|| {
            let mut builder = Builder::new_current_thread();
            builder.enable_time().start_paused(true).build().unwrap()
        });
        let _entered = clock.enter();
        let _running = Running::begin();
        let model = move || {
            TASKS.with_borrow_mut(Vec::clear);
            model();
            join_tasks();
        };
        try_all(DfsScheduler::new(Some(TRIES), false), model.clone());
        try_all(RandomScheduler::new(TRIES), model.clone());
        try_all(PctScheduler::new(3, TRIES), model);
    }

    fn try_all(scheduler: impl Scheduler + 'static, model: impl Fn() + Send + Sync + 'static) {
        let mut config = Config::new();
        config.stack_size = 1 << 20;
        Runner::new(scheduler, config).run(model);
    }

    struct Running;

    impl Running {
        fn begin() -> Self {
            IS_RUNNING.set(true);
            Self
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            IS_RUNNING.set(false);
        }
    }

    #[derive(Debug)]
    pub(crate) enum Mutex<T> {
        Real(parking_lot::Mutex<T>),
        Model(shuttle::sync::Mutex<T>),
    }

    pub(crate) enum MutexGuard<'m, T> {
        Real(parking_lot::MutexGuard<'m, T>),
        Model(Option<shuttle::sync::MutexGuard<'m, T>>),
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            if let Self::Model(guard) = self {
                drop(guard.take());
                switch();
            }
        }
    }

    /// Lets others run. Shuttle does so before what may wait; what comes behind it is to be tried too.
    fn switch() {
        if !std::thread::panicking() {
            shuttle::sync::atomic::AtomicBool::new(false).load(Ordering::SeqCst);
        }
    }

    impl<T> Mutex<T> {
        pub(crate) fn new(value: T) -> Self {
            if is_running() {
                Self::Model(shuttle::sync::Mutex::new(value))
            } else {
                Self::Real(parking_lot::Mutex::new(value))
            }
        }

        pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
            match self {
                Self::Real(mutex) => MutexGuard::Real(mutex.lock()),
                Self::Model(mutex) => {
                    let guard = mutex.lock().unwrap_or_else(PoisonError::into_inner);
                    MutexGuard::Model(Some(guard))
                }
            }
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Self {
            Self::new(T::default())
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            match self {
                Self::Real(guard) => guard,
                Self::Model(guard) => guard.as_ref().unwrap(),
            }
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            match self {
                Self::Real(guard) => guard,
                Self::Model(guard) => guard.as_mut().unwrap(),
            }
        }
    }

    #[derive(Debug)]
    pub(crate) enum AtomicUsize {
        Real(std::sync::atomic::AtomicUsize),
        Model(shuttle::sync::atomic::AtomicUsize),
    }

    impl Default for AtomicUsize {
        fn default() -> Self {
            Self::new(0)
        }
    }

    impl AtomicUsize {
        pub(crate) fn new(value: usize) -> Self {
            if is_running() {
                Self::Model(shuttle::sync::atomic::AtomicUsize::new(value))
            } else {
                Self::Real(std::sync::atomic::AtomicUsize::new(value))
            }
        }

        pub(crate) fn load(&self, order: Ordering) -> usize {
            match self {
                Self::Real(number) => number.load(order),
                Self::Model(number) => {
                    let value = number.load(order);
                    switch();
                    value
                }
            }
        }

        pub(crate) fn fetch_add(&self, value: usize, order: Ordering) -> usize {
            match self {
                Self::Real(number) => number.fetch_add(value, order),
                Self::Model(number) => number.fetch_add(value, order),
            }
        }

        pub(crate) fn fetch_sub(&self, value: usize, order: Ordering) -> usize {
            match self {
                Self::Real(number) => number.fetch_sub(value, order),
                Self::Model(number) => number.fetch_sub(value, order),
            }
        }

        pub(crate) fn fetch_update(
            &self,
            set: Ordering,
            fetch: Ordering,
            update: impl FnMut(usize) -> Option<usize>,
        ) -> Result<usize, usize> {
            match self {
                Self::Real(number) => number.fetch_update(set, fetch, update),
                Self::Model(number) => number.fetch_update(set, fetch, update),
            }
        }
    }
}
