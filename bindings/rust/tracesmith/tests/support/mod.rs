// SPDX-License-Identifier: Apache-2.0
//! A folder of a test's own, which is removed at its end.
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let test = std::env::current_exe().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        let path = std::env::temp_dir().join(format!("{test}-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
