/*
 * near.h - cmocka, and the one comparison it lacks.
 *
 * Physical quantities are compared relatively: 1e12 +- 1e9 is as good as
 * 1e-6 +- 1e-9, and no absolute epsilon serves both.
 */
#ifndef MFU_NEAR_H
#define MFU_NEAR_H

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

#define assert_near(got, wanted, relative) mfu_assert_near(got, wanted, relative, __FILE__, __LINE__)

static inline void mfu_assert_near(double got, double wanted, double relative, const char *file, int line)
{
    if (fabs(got - wanted) <= relative * fabs(wanted))
        return;
    print_error("%.17g is not within %g of %.17g\n", got, relative, wanted);
    _fail(file, line);
}

#endif
