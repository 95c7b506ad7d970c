//! Futures that a driver waits for: mostly one call, sometimes many.
//!
//! `FuturesUnordered` yields after each round, which wakes its task again and with it another
//! thread. A single future needs no set.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use std::collections::VecDeque;
use std::pin::pin;
use std::task::{Context, Poll};

/// The futures in flight.
pub(super) struct InFlight<T> {
    /// The results of futures that ended while something else was awaited.
    ended: VecDeque<T>,
    one: Option<BoxFuture<'static, T>>,
    more: FuturesUnordered<BoxFuture<'static, T>>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self {
            ended: VecDeque::new(),
            one: None,
            more: FuturesUnordered::new(),
        }
    }
}

impl<T> InFlight<T> {
    pub(super) fn push(&mut self, work: BoxFuture<'static, T>) {
        match self.one.is_none() && self.more.is_empty() {
            true => self.one = Some(work),
            false => self.more.push(work),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ended.is_empty() && self.one.is_none() && self.more.is_empty()
    }

    /// Awaits something else while the futures in flight continue. A future that is not polled may
    /// hold a slot or a lock that the other one waits for.
    pub(super) async fn poll_while<R>(&mut self, other: impl Future<Output = R>) -> R {
        let mut other = pin!(other);
        std::future::poll_fn(|cx| {
            if let Poll::Ready(result) = other.as_mut().poll(cx) {
                return Poll::Ready(result);
            }
            while let Poll::Ready(Some(ended)) = self.poll(cx) {
                self.ended.push_back(ended);
            }
            Poll::Pending
        })
        .await
    }

    /// The next result; `None` if nothing is in flight. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<T> {
        match self.ended.pop_front() {
            Some(ended) => Some(ended),
            None => std::future::poll_fn(|cx| self.poll(cx)).await,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if let Some(one) = &mut self.one
            && let Poll::Ready(done) = one.as_mut().poll(cx)
        {
            self.one = None;
            return Poll::Ready(Some(done));
        }
        if self.more.is_empty() {
            return match self.one {
                Some(_) => Poll::Pending,
                None => Poll::Ready(None),
            };
        }
        self.more.poll_next_unpin(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn all_come_back_and_what_never_comes_holds_up_nobody() {
        let mut all = InFlight::default();
        assert!(all.is_empty() && all.next().await.is_none());
        all.push(Box::pin(ready(1)));
        assert_eq!(all.next().await, Some(1));
        assert!(all.is_empty());
        all.push(Box::pin(pending()));
        for number in 2..5 {
            all.push(Box::pin(ready(number)));
        }
        let mut came = Vec::new();
        for _ in 2..5 {
            came.extend(all.next().await);
        }
        came.sort_unstable();
        assert_eq!(came, [2, 3, 4]);
        assert!(!all.is_empty());
        // While one is taken out, another one is still polled.
        all.push(Box::pin(async {
            tokio::task::yield_now().await;
            5
        }));
        assert_eq!(all.next().await, Some(5));
    }

    #[tokio::test]
    async fn they_continue_while_something_else_is_awaited() {
        let slot = Arc::new(Semaphore::new(1));
        let held = Arc::clone(&slot).acquire_owned().await.unwrap();
        let mut all = InFlight::default();
        for number in 1..4 {
            let slot = Arc::clone(&slot);
            all.push(Box::pin(async move {
                drop(slot.acquire_owned().await.unwrap());
                number
            }));
        }
        // All wait in line for the slot; the last in line is not in flight.
        assert!(futures_util::poll!(pin!(all.next())).is_pending());
        let mut last = pin!(slot.acquire());
        assert!(futures_util::poll!(last.as_mut()).is_pending());
        drop(held);
        let slot = tokio::time::timeout(Duration::from_secs(20), all.poll_while(last)).await;
        drop(slot.expect("futures in flight hold the slot").unwrap());
        let mut came = Vec::new();
        while let Some(number) = all.next().await {
            came.push(number);
        }
        assert_eq!(came, [1, 2, 3]);
        assert!(all.is_empty());
    }
}
