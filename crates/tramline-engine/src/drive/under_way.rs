//! What a driver waits for: mostly one call, sometimes many.
//!
//! A set of futures gives way after each round, which wakes its own task once more and with it
//! another thread. One alone needs no set.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use std::task::{Context, Poll};

/// What is under way.
pub(super) struct UnderWay<T> {
    one: Option<BoxFuture<'static, T>>,
    more: FuturesUnordered<BoxFuture<'static, T>>,
}

impl<T> Default for UnderWay<T> {
    fn default() -> Self {
        Self {
            one: None,
            more: FuturesUnordered::new(),
        }
    }
}

impl<T> UnderWay<T> {
    pub(super) fn push(&mut self, work: BoxFuture<'static, T>) {
        match self.is_empty() {
            true => self.one = Some(work),
            false => self.more.push(work),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.one.is_none() && self.more.is_empty()
    }

    /// What comes back next; nothing if nothing is under way. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<T> {
        std::future::poll_fn(|cx| self.poll(cx)).await
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

    #[tokio::test]
    async fn all_come_back_and_what_never_comes_holds_up_nobody() {
        let mut all = UnderWay::default();
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
        // While the one is out, another is not forgotten.
        all.push(Box::pin(async {
            tokio::task::yield_now().await;
            5
        }));
        assert_eq!(all.next().await, Some(5));
    }
}
