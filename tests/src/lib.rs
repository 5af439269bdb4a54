//! ferroce-tests
