//! One binary of integration tests.

mod page;
