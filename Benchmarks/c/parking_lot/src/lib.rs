//! parking_lot's raw locks for C. One call each, as a C library's lock has; the lock itself is inlined into it.

use parking_lot::lock_api::{RawMutex as _, RawMutexTimed as _, RawRwLock as _};
use parking_lot::{RawMutex, RawRwLock};
use std::time::Duration;

/// # Safety
/// `mutex` points to a zero-filled byte that lives as long as it is used.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_lock(mutex: *const RawMutex) {
    (*mutex).lock();
}

/// # Safety
/// The calling thread holds `mutex`.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_unlock(mutex: *const RawMutex) {
    (*mutex).unlock();
}

/// # Safety
/// As for `bench_parking_lot_lock`.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_lock_for(mutex: *const RawMutex, nanoseconds: u64) -> bool {
    (*mutex).try_lock_for(Duration::from_nanos(nanoseconds))
}

/// # Safety
/// `lock` points to a zero-filled word that lives as long as it is used.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_rdlock(lock: *const RawRwLock) {
    (*lock).lock_shared();
}

/// # Safety
/// As for `bench_parking_lot_rdlock`; who unlocks holds `lock`.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_rdunlock(lock: *const RawRwLock) {
    (*lock).unlock_shared();
}

/// # Safety
/// As for `bench_parking_lot_rdlock`; who unlocks holds `lock`.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_wrlock(lock: *const RawRwLock) {
    (*lock).lock_exclusive();
}

/// # Safety
/// As for `bench_parking_lot_rdlock`; who unlocks holds `lock`.
#[no_mangle]
pub unsafe extern "C" fn bench_parking_lot_wrunlock(lock: *const RawRwLock) {
    (*lock).unlock_exclusive();
}
