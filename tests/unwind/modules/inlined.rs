// SPDX-License-Identifier: Apache-2.0
use std::collections::BTreeMap;

#[inline(always)]
fn turn<const N: u64>(x: u64) -> u64 {
    x.wrapping_mul(N).rotate_left(3)
}

trait Go {
    fn go(&self, x: u64) -> u64;
}

struct Two;
struct Sum(u64);

impl Go for Two {
    fn go(&self, x: u64) -> u64 {
        turn::<3>(turn::<5>(x))
    }
}

impl Go for Sum {
    fn go(&self, x: u64) -> u64 {
        (0..x).map(|i| turn::<7>(i + self.0)).filter(|v| v % 3 == 0).sum()
    }
}

fn main() {
    let n = std::env::args().count() as u64;
    let all: Vec<Box<dyn Go>> = vec![Box::new(Two), Box::new(Sum(n))];
    let mut map = BTreeMap::new();
    for one in &all {
        map.insert(n, one.go(n));
    }
    println!("{:?}", map);
}
