//! Counts that workers share in one value, and that each copy of the value has for itself: a copy goes on from where
//! they stood. Atomics alone have no copy.
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// An atomic whose value is copied. Nobody may change it meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Own<A>(A);

macro_rules! copied {
    ($($atomic:ident of $value:ty),*) => {$(
        impl Own<$atomic> {
            pub(crate) fn new(value: $value) -> Self {
                Self($atomic::new(value))
            }
        }

        impl Clone for Own<$atomic> {
            fn clone(&self) -> Self {
                Self::new(self.0.load(Relaxed))
            }
        }
    )*};
}

copied!(AtomicBool of bool, AtomicU32 of u32, AtomicU64 of u64, AtomicUsize of usize);

impl<A> Deref for Own<A> {
    type Target = A;

    #[inline(always)]
    fn deref(&self) -> &A {
        &self.0
    }
}

impl<A> DerefMut for Own<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.0
    }
}
