// SPDX-License-Identifier: Apache-2.0
// Calls back from within closures, iterators and a function that panics after it.
use std::panic::{catch_unwind, AssertUnwindSafe};

fn within(function: extern "C" fn(), depth: u64) -> u64 {
    let values: Vec<u64> = (0..depth % 7 + 1).map(|value| {
        if value == depth % 7 { function(); }
        value * depth
    }).collect();
    if depth > 3 { return values.iter().sum::<u64>() + within(function, depth - 4); }
    if values.len() > 2 { panic!("on purpose"); }
    values.len() as u64
}

#[no_mangle]
pub extern "C" fn rude_rust(function: extern "C" fn(), depth: u64) -> u64 {
    std::panic::set_hook(Box::new(|_| ()));
    let result = catch_unwind(AssertUnwindSafe(|| within(function, depth % 23)));
    function();
    result.unwrap_or(1)
}
