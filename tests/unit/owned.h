/*
 * owned.h - plans, simulations and arenas that a test has until its block ends: PLAN p = {0};
 */
#ifndef MFU_TEST_OWNED_H
#define MFU_TEST_OWNED_H

#include "base/arena.h"
#include "plan/plan.h"
#include "plan/simulation.h"

#define ARENA struct mfu_arena __attribute__((cleanup(mfu_arena_free)))
#define PLAN struct mfu_plan __attribute__((cleanup(mfu_plan_release)))
#define SIMULATION struct mfu_simulation __attribute__((cleanup(mfu_simulation_release)))

#endif
