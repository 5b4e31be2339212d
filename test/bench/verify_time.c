/*
 * test/bench/verify_time.c
 *
 * Does the time that a signature takes to be verified tell where it differs from
 * the right one?
 *
 *	verify_time SAMPLES
 *
 * The bench compares signatures that differ from the right one in their first byte
 * with such that differ in their last, in an order by chance, through the function
 * that deliveries are verified by; and, to see that it would have found something,
 * through a comparison that ends at the first difference, on the same digests.
 * Where the time is the same, Welch's t of the two is within 4.5 but once in more
 * than a hundred thousand runs, the threshold that others use for leaks
 * (Reparaz, Balasch and Verbauwhede: Dude, is my code constant time?).
 *
 * Times over the 90th percentile are dropped, since they measure interrupts.
 * Prints |t| and the difference of the means in nanoseconds, of the first and then
 * of the second comparison.
 */
#include "postgres_fe.h"

#include <math.h>
#include <time.h>

#include "common/hmac.h"
#include "common/sha2.h"

#include "codec/webhook_signature.h"

#define KEPT 0.9

static const char secret[] = "a secret of cal.com";
static const char body[] = "{\"triggerEvent\":\"BOOKING_CREATED\",\"payload\":{\"uid\":\"u\"}}";

static uint8 right[BOOKING_SIGNATURE_BYTES];
static BookingSignature wrong[2];	/* in the first byte, in the last */

/*
 * A comparison that ends at the first difference, as none may.
 */
static int
matches_leaky(const BookingSignature *signature)
{
	volatile const uint8 *a = right;
	volatile const uint8 *b = signature->digests[0];
	int			i = 0;

	while (i < BOOKING_SIGNATURE_BYTES && a[i] == b[i])
		i++;
	return i == BOOKING_SIGNATURE_BYTES;
}

static int64
nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64) now.tv_sec * 1000000000 + now.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/*
 * Mean and variance of what is kept of some times.
 */
static void
describe(double *times, int count, double *mean, double *variance, int *kept)
{
	double		sum = 0;
	double		squares = 0;

	qsort(times, count, sizeof(double), compare);
	*kept = (int) (count * KEPT);
	for (int i = 0; i < *kept; i++)
		sum += times[i];
	*mean = sum / *kept;
	for (int i = 0; i < *kept; i++)
		squares += (times[i] - *mean) * (times[i] - *mean);
	*variance = squares / (*kept - 1);
}

/*
 * Compare the two classes through one of the functions.
 */
static void
run(int samples, bool leaky)
{
	double	   *times[2];
	int			count[2] = {0, 0};
	double		mean[2];
	double		variance[2];
	int			kept[2];
	int			found = 0;

	for (int i = 0; i < 2; i++)
		times[i] = calloc(samples, sizeof(double));
	if (times[0] == NULL || times[1] == NULL)
		exit(1);
	for (int i = -1000; i < samples; i++)
	{
		int			which = random() & 1;
		int64		begin = nanoseconds();

		found += leaky ? matches_leaky(&wrong[which]) :
			booking_signature_matches(&wrong[which], NULL, body, strlen(body), secret);
		begin = nanoseconds() - begin;
		if (i >= 0)
			times[which][count[which]++] = begin;
	}
	if (found != 0)
	{
		fprintf(stderr, "a wrong signature was taken for the right one\n");
		exit(1);
	}
	for (int i = 0; i < 2; i++)
		describe(times[i], count[i], &mean[i], &variance[i], &kept[i]);
	printf("%.2f %.2f\n", fabs(mean[0] - mean[1]) /
		   sqrt(variance[0] / kept[0] + variance[1] / kept[1]),
		   fabs(mean[0] - mean[1]));
	free(times[0]);
	free(times[1]);
}

int
main(int argc, char **argv)
{
	int			samples = argc > 1 ? (int) strtol(argv[1], NULL, 10) : 0;
	pg_hmac_ctx *hmac = pg_hmac_create(PG_SHA256);

	if (samples < 1000)
	{
		fprintf(stderr, "usage: verify_time SAMPLES, 1000 or more\n");
		return 1;
	}
	if (hmac == NULL ||
		pg_hmac_init(hmac, (const uint8 *) secret, strlen(secret)) < 0 ||
		pg_hmac_update(hmac, (const uint8 *) body, strlen(body)) < 0 ||
		pg_hmac_final(hmac, right, sizeof(right)) < 0)
		return 1;
	pg_hmac_free(hmac);
	for (int i = 0; i < 2; i++)
	{
		wrong[i].count = 1;
		memcpy(wrong[i].digests[0], right, sizeof(right));
		wrong[i].digests[0][i == 0 ? 0 : BOOKING_SIGNATURE_BYTES - 1] ^= 1;
	}
	srandom((unsigned int) time(NULL));
	run(samples, false);
	run(samples, true);
	return 0;
}
