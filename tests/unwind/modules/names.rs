// SPDX-License-Identifier: Apache-2.0
// Prints what the compiler calls its functions.
#![allow(uncommon_codepoints)]
mod größe {
    #[inline(never)]
    pub fn naïve_日本(x: i32) -> i32 {
        std::hint::black_box(x) + 1
    }
    pub mod 内 {
        #[inline(never)]
        pub fn 𝛼_step(x: i32) -> i32 {
            std::hint::black_box(x) + 2
        }
    }
}
fn name_of<T>(_: &T) -> &'static str {
    std::any::type_name::<T>()
}
fn main() {
    assert_eq!(größe::naïve_日本(1) + größe::内::𝛼_step(1), 5);
    println!("{}\n{}", name_of(&größe::naïve_日本), name_of(&größe::内::𝛼_step));
}
