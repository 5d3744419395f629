//! One type per kind of index, so that a stream number cannot be used as a target number.
use serde::{Deserialize, Serialize};

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// The place of this item in its vector.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the item at `index`.
            pub fn at(index: usize) -> Self {
                Self(u32::try_from(index).expect("a plan holds fewer than 2^32 items of a kind"))
            }
        }
    };
}

index!(
    /// A target of the plan: place in [`crate::Plan::targets`].
    TargetId
);
index!(
    /// A stream of a run template: place in [`crate::RunTemplate::streams`].
    StreamId
);
index!(
    /// A pool of a run template: place in [`crate::RunTemplate::pools`].
    PoolId
);
index!(
    /// A run of the plan: place in [`crate::Plan::runs`].
    RunId
);
index!(
    /// A run template: place in [`crate::Plan::templates`].
    TemplateId
);
index!(
    /// A search, such as one latency curve: place in [`crate::Plan::searches`].
    SearchId
);
index!(
    /// Targets that hold duplicates together: place in [`crate::Plan::duplicate_pools`].
    DuplicatePoolId
);
index!(
    /// A pattern that is written: place in [`crate::Plan::patterns`].
    PatternId
);
