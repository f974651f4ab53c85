#pragma once

struct ck_spin { unsigned long storage; };
void ck_spin_init(struct ck_spin *spin);
void ck_spin_lock(struct ck_spin *spin);
void ck_spin_unlock(struct ck_spin *spin);
