//! ferroce-abi
