# test/bench/verify.sh
#
# Measuring whether the time that a signature takes to be verified tells where it
# differs from the right one: see verify_time.c.  Sourced by run.sh.

verify_samples=200000
[ -z "$quick" ] || verify_samples=50000

# Compile the program, from the codec alone.
prepare_verify()
{
	(
		# shellcheck source=test/unit/build.sh
		. "$topdir/test/unit/build.sh"
		find_postgres
		compile_codec gcc -O2 "$scratch/codec.a"
		compile_unit gcc -O2 "$scratch/codec.a" "$scratch/verify_time" "$here/verify_time.c"
	) || die "the verification does not compile"
}

# One round, of the function and of a comparison that leaks.
measure_verify()
{
	local ours_t ours_ns leaky_t leaky_ns

	{
		read -r ours_t ours_ns
		read -r leaky_t leaky_ns
	} <<<"$("$scratch/verify_time" "$verify_samples")"
	record verify_t "$ours_t"
	record verify_ns "$ours_ns"
	record leaky_t "$leaky_t"
	record leaky_ns "$leaky_ns"
}
