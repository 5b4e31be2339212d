-- test/bench/rival.sql
--
-- The rival that claims are measured against: what a careful author would
-- write in plpgsql with the guarantees of booking_claim, on tables of the same
-- shape.  It validates its arguments, demands a role binding and a permission
-- that cannot be revoked under it, serialises calls of one intent, replays what
-- was stored for an exact payload, honours tombstones, stores conflicts,
-- promises capacity about every instant, and reads everything it decides by
-- after its locks.  Written for speed: one statement takes all locks, one
-- reads what can be read together, nothing is read twice.
--
-- It leaves out superseding, slots, several resources and four eyes, which
-- only makes it faster.  same.sql compares its answers with booking_claim's.

\set ON_ERROR_STOP on

/*
 * The payload fields in which a stored intent differs from what was given.
 */
CREATE FUNCTION rival.differing(prior rival.intent, a_resource text,
	a_during tstzrange, a_versions bigint[], a_units integer, a_terms jsonb,
	a_supersedes text)
RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_agg(field)
	  FROM (VALUES
			('resource', prior.resources IS DISTINCT FROM ARRAY[a_resource]),
			('during', prior.during IS DISTINCT FROM a_during),
			('expected_version', prior.expected_versions IS DISTINCT FROM a_versions),
			('units', prior.units IS DISTINCT FROM a_units),
			('terms', prior.terms IS DISTINCT FROM a_terms),
			('supersedes', prior.supersedes IS DISTINCT FROM a_supersedes))
		   AS compared (field, differs)
	 WHERE differs
$$;

/*
 * Give the units of a resource new lanes so that a_units lanes are free
 * throughout a_wanted.  The caller holds the resource's exclusive lock and has
 * checked that no instant is full.  Works on the connected component of
 * overlapping rows, in the order of starts; rows move through the lanes from
 * 32768 up, because the constraint is immediate.
 */
CREATE FUNCTION rival.recolour(a_resource_id bigint, a_capacity integer,
	a_wanted tstzrange, a_units integer)
RETURNS integer[]
LANGUAGE plpgsql AS $$
DECLARE
	span tstzrange := a_wanted;
	wider tstzrange;
	lane_end timestamptz[] := array_fill('-infinity'::timestamptz, ARRAY[a_capacity]);
	lanes integer[] := '{}';
	moved_intents bigint[] := '{}';
	moved_pieces integer[] := '{}';
	moved_lanes integer[] := '{}';
	member record;
BEGIN
	LOOP
		SELECT tstzrange(least(lower(span), min(lower(occupied))),
						 greatest(upper(span), max(upper(occupied))))
		  INTO wider
		  FROM rival.reservation
		 WHERE resource_id * 65536 + unit
			   BETWEEN a_resource_id * 65536 AND a_resource_id * 65536 + a_capacity - 1
		   AND occupied && span;
		EXIT WHEN wider = span;
		span := wider;
	END LOOP;

	FOR member IN
		SELECT intent_id, piece, unit, occupied
		  FROM rival.reservation
		 WHERE resource_id * 65536 + unit
			   BETWEEN a_resource_id * 65536 AND a_resource_id * 65536 + a_capacity - 1
		   AND occupied && span
		UNION ALL
		SELECT NULL, g, NULL, a_wanted FROM generate_series(1, a_units) g
		 ORDER BY occupied
	LOOP
		FOR lane IN 0 .. a_capacity - 1 LOOP
			CONTINUE WHEN lane_end[lane + 1] > lower(member.occupied);
			lane_end[lane + 1] := upper(member.occupied);
			IF member.intent_id IS NULL THEN
				lanes := lanes || lane;
			ELSIF member.unit <> lane THEN
				moved_intents := moved_intents || member.intent_id;
				moved_pieces := moved_pieces || member.piece;
				moved_lanes := moved_lanes || lane;
			END IF;
			EXIT;
		END LOOP;
	END LOOP;

	UPDATE rival.reservation r
	   SET unit = 32768 + m.lane
	  FROM unnest(moved_intents, moved_pieces, moved_lanes) m (intent_id, piece, lane)
	 WHERE r.intent_id = m.intent_id AND r.piece = m.piece;
	UPDATE rival.reservation r
	   SET unit = m.lane
	  FROM unnest(moved_intents, moved_pieces, moved_lanes) m (intent_id, piece, lane)
	 WHERE r.intent_id = m.intent_id AND r.piece = m.piece;
	RETURN lanes;
END
$$;

/*
 * Reserve units of a resource whose capacity is not 1, or several units, under
 * its exclusive lock.  False when some instant would exceed the capacity.
 */
CREATE FUNCTION rival.reserve_lanes(a_intent_id bigint, a_tenant text,
	a_resource_id bigint, a_capacity integer, a_wanted tstzrange,
	a_units integer)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	first_lane bigint := a_resource_id * 65536;
	peak integer;
	lanes integer[];
BEGIN
	DELETE FROM rival.reservation
	 WHERE resource_id * 65536 + unit BETWEEN first_lane AND first_lane + 65535
	   AND occupied && a_wanted
	   AND hold_until <= clock_timestamp();

	SELECT max(overlap) INTO peak
	  FROM (SELECT (SELECT count(*) FROM rival.reservation r
					 WHERE r.resource_id * 65536 + r.unit
						   BETWEEN first_lane AND first_lane + 65535
					   AND r.occupied @> instant) AS overlap
			  FROM (SELECT lower(a_wanted) AS instant
					UNION
					SELECT lower(r.occupied) FROM rival.reservation r
					 WHERE r.resource_id * 65536 + r.unit
						   BETWEEN first_lane AND first_lane + 65535
					   AND r.occupied && a_wanted
					   AND lower(r.occupied) > lower(a_wanted)) starts) counted;
	IF peak + a_units > a_capacity THEN
		RETURN false;
	END IF;

	lanes := ARRAY(SELECT lane FROM generate_series(0, a_capacity - 1) lane
					WHERE NOT EXISTS (SELECT FROM rival.reservation r
									   WHERE r.resource_id * 65536 + r.unit = first_lane + lane
										 AND r.occupied && a_wanted)
					LIMIT a_units);
	IF cardinality(lanes) < a_units THEN
		lanes := rival.recolour(a_resource_id, a_capacity, a_wanted, a_units);
	END IF;
	INSERT INTO rival.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	SELECT a_intent_id, a_resource_id, n - 1, lane, a_wanted, a_tenant
	  FROM unnest(lanes) WITH ORDINALITY u (lane, n);
	RETURN true;
END
$$;

CREATE FUNCTION rival.claim(a_tenant text, a_principal text, a_intent text,
	a_resource text, a_during tstzrange, a_version bigint DEFAULT NULL,
	a_units integer DEFAULT 1, a_terms jsonb DEFAULT '{}',
	a_supersedes text DEFAULT NULL, a_evidence jsonb DEFAULT NULL)
RETURNS public.booking_result
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	caller text := CASE current_setting('role') WHEN 'none' THEN session_user
						ELSE current_setting('role') END;
	versions bigint[] := CASE WHEN a_version IS NOT NULL THEN ARRAY[a_version] END;
	known record;
	rules record;
	prior rival.intent;
	differing jsonb;
	id bigint;
	at_once timestamptz := clock_timestamp();
	wanted tstzrange;
	reserved boolean := false;
	refused text;
	why jsonb;
	token text;
BEGIN
	IF a_tenant IS NULL OR a_principal IS NULL OR a_intent IS NULL
		OR a_resource IS NULL OR a_during IS NULL OR a_units IS NULL
		OR a_terms IS NULL THEN
		RAISE null_value_not_allowed USING MESSAGE = 'arguments must not be null';
	END IF;
	IF octet_length(a_tenant) NOT BETWEEN 1 AND 200
		OR octet_length(a_principal) NOT BETWEEN 1 AND 200
		OR octet_length(a_intent) NOT BETWEEN 1 AND 200
		OR octet_length(a_resource) NOT BETWEEN 1 AND 200
		OR btrim(a_tenant) <> a_tenant OR btrim(a_principal) <> a_principal
		OR btrim(a_intent) <> a_intent OR btrim(a_resource) <> a_resource
		OR (a_tenant || a_principal || a_intent || a_resource) ~ '[[:cntrl:]]' THEN
		RAISE invalid_parameter_value USING MESSAGE = 'a label is not valid';
	END IF;
	IF isempty(a_during) OR NOT lower_inc(a_during) OR upper_inc(a_during)
		OR lower(a_during) < '1970-01-01 00:00:00+00'
		OR upper(a_during) > '10000-01-01 00:00:00+00' THEN
		RAISE invalid_parameter_value USING MESSAGE = 'the interval is not valid';
	END IF;
	IF a_units < 1 OR a_version < 1 OR jsonb_typeof(a_terms) <> 'object'
		OR pg_column_size(a_terms) > 65536 OR a_supersedes IS NOT NULL THEN
		RAISE invalid_parameter_value USING MESSAGE = 'an argument is not valid';
	END IF;

	SELECT resource_id, capacity INTO known
	  FROM rival.resource WHERE tenant = a_tenant AND resource = a_resource;
	IF NOT FOUND THEN
		RETURN ROW('denied', NULL, NULL, NULL, NULL, false, NULL)::public.booking_result;
	END IF;

	IF known.capacity = 1 AND a_units = 1 THEN
		PERFORM pg_advisory_xact_lock_shared(19265, hashtext(a_tenant) & 1023),
				pg_advisory_xact_lock_shared(19266, hashtext(a_tenant || E'\n' || a_principal) & 1023),
				pg_advisory_xact_lock(19267, hashtext(a_tenant || E'\n' || a_principal || E'\n' || a_intent) & 4095),
				pg_advisory_xact_lock_shared(known.resource_id);
	ELSE
		PERFORM pg_advisory_xact_lock_shared(19265, hashtext(a_tenant) & 1023),
				pg_advisory_xact_lock_shared(19266, hashtext(a_tenant || E'\n' || a_principal) & 1023),
				pg_advisory_xact_lock(19267, hashtext(a_tenant || E'\n' || a_principal || E'\n' || a_intent) & 4095),
				pg_advisory_xact_lock(known.resource_id);
	END IF;

	SELECT r.capacity, r.version, r.buffer_before, r.buffer_after,
		   coalesce((SELECT p.allowed FROM rival.permission p
					  WHERE p.tenant = a_tenant AND p.principal = a_principal
						AND p.resource = a_resource),
					(SELECT p.allowed FROM rival.permission p
					  WHERE p.tenant = a_tenant AND p.principal = a_principal
						AND p.resource = '')) AS allowed,
		   EXISTS (SELECT FROM rival.role_binding b
					WHERE b.tenant = a_tenant AND b.role = caller) AS bound
	  INTO rules
	  FROM rival.resource r WHERE r.resource_id = known.resource_id;
	IF NOT FOUND OR rules.allowed IS NOT TRUE
		OR NOT rules.bound AND NOT EXISTS (
			SELECT FROM rival.role_binding b
			 WHERE b.tenant = a_tenant AND pg_has_role(caller, b.role, 'USAGE'))
		   AND NOT EXISTS (
			SELECT FROM pg_roles WHERE rolname = caller AND rolsuper) THEN
		RETURN ROW('denied', NULL, NULL, NULL, NULL, false, NULL)::public.booking_result;
	END IF;
	IF rules.capacity <> known.capacity THEN
		RAISE serialization_failure USING MESSAGE = 'the capacity was changed during the call';
	END IF;

	SELECT * INTO prior FROM rival.intent i
	 WHERE i.tenant = a_tenant AND i.principal = a_principal AND i.intent = a_intent;
	IF FOUND THEN
		IF prior.version > 0 AND
			(prior.resources, prior.during, prior.expected_versions, prior.units,
			 prior.terms, prior.supersedes)
			IS DISTINCT FROM
			(ARRAY[a_resource], a_during, versions, a_units, a_terms, a_supersedes) THEN
			differing := rival.differing(prior, a_resource, a_during, versions,
										 a_units, a_terms, a_supersedes);
			RETURN ROW('intent_conflict', prior.state, prior.remote, prior.event, NULL, false,
					   jsonb_build_object('differs', differing))::public.booking_result;
		END IF;
		RETURN ROW(CASE prior.state WHEN 'committed' THEN 'historical_retry'
					WHEN 'canceled' THEN 'canceled' ELSE prior.disposition END,
				   prior.state, prior.remote, prior.event, prior.receipt, true,
				   prior.detail)::public.booking_result;
	END IF;

	id := nextval('rival.intent_id_seq');
	IF a_version <> rules.version THEN
		refused := 'inventory_conflict';
		why := jsonb_build_object('resource', a_resource, 'version', rules.version);
	ELSE
		wanted := tstzrange(lower(a_during) - rules.buffer_before,
							upper(a_during) + rules.buffer_after);
		IF a_units > rules.capacity THEN
			why := jsonb_build_object('resource', a_resource, 'capacity', rules.capacity);
		ELSIF rules.capacity = 1 THEN
			INSERT INTO rival.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
			VALUES (id, known.resource_id, 0, 0, wanted, a_tenant)
			ON CONFLICT ON CONSTRAINT reservation_lane_excl DO NOTHING;
			reserved := FOUND;
			IF NOT reserved THEN
				DELETE FROM rival.reservation
				 WHERE resource_id * 65536 + unit = known.resource_id * 65536
				   AND occupied && wanted AND hold_until <= clock_timestamp();
				IF FOUND THEN
					INSERT INTO rival.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
					VALUES (id, known.resource_id, 0, 0, wanted, a_tenant)
					ON CONFLICT ON CONSTRAINT reservation_lane_excl DO NOTHING;
					reserved := FOUND;
				END IF;
			END IF;
		ELSE
			reserved := rival.reserve_lanes(id, a_tenant, known.resource_id,
											rules.capacity, wanted, a_units);
		END IF;
		IF NOT reserved THEN
			refused := 'resource_conflict';
			IF why IS NULL THEN
				SELECT jsonb_build_object('resource', a_resource,
										  'free_at', min(upper(occupied)))
				  INTO why
				  FROM rival.reservation
				 WHERE resource_id * 65536 + unit
					   BETWEEN known.resource_id * 65536 AND known.resource_id * 65536 + 65535
				   AND occupied && wanted;
			END IF;
		END IF;
	END IF;

	IF reserved THEN
		token := 'local:' || replace(gen_random_uuid()::text, '-', '');
	END IF;
	INSERT INTO rival.intent (intent_id, created_at, changed_at, version, units,
		tenant, principal, intent, disposition, state, receipt, resources, during,
		expected_versions, terms, detail, evidence, created_role, changed_role)
	VALUES (id, at_once, at_once, 1, a_units, a_tenant, a_principal, a_intent,
		coalesce(refused, 'committed'),
		CASE WHEN reserved THEN 'committed' ELSE 'conflict' END,
		token, ARRAY[a_resource], a_during, versions, a_terms, why, a_evidence,
		caller, caller);
	RETURN ROW(coalesce(refused, 'committed'),
			   CASE WHEN reserved THEN 'committed' ELSE 'conflict' END,
			   'not_required', 'none', token, false, why)::public.booking_result;
END
$$;

/* End an intent by its identity; one that was never seen gets a tombstone. */
CREATE FUNCTION rival.cancel(a_tenant text, a_principal text, a_intent text)
RETURNS public.booking_result
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	caller text := CASE current_setting('role') WHEN 'none' THEN session_user
						ELSE current_setting('role') END;
	prior rival.intent;
BEGIN
	PERFORM pg_advisory_xact_lock_shared(19265, hashtext(a_tenant) & 1023),
			pg_advisory_xact_lock_shared(19266, hashtext(a_tenant || E'\n' || a_principal) & 1023),
			pg_advisory_xact_lock(19267, hashtext(a_tenant || E'\n' || a_principal || E'\n' || a_intent) & 4095);
	IF NOT EXISTS (SELECT FROM rival.permission p
					WHERE p.tenant = a_tenant AND p.principal = a_principal AND p.allowed)
		OR NOT EXISTS (SELECT FROM rival.role_binding b
						WHERE b.tenant = a_tenant AND b.role = caller) THEN
		RETURN ROW('denied', NULL, NULL, NULL, NULL, false, NULL)::public.booking_result;
	END IF;
	SELECT * INTO prior FROM rival.intent i
	 WHERE i.tenant = a_tenant AND i.principal = a_principal AND i.intent = a_intent;
	IF NOT FOUND THEN
		INSERT INTO rival.intent (created_at, changed_at, version, tenant, principal,
			intent, disposition, state, created_role, changed_role)
		VALUES (clock_timestamp(), clock_timestamp(), 0, a_tenant, a_principal,
			a_intent, 'canceled', 'canceled', caller, caller);
	ELSIF prior.state <> 'canceled' THEN
		PERFORM pg_advisory_xact_lock_shared(resource_id)
		   FROM rival.reservation WHERE intent_id = prior.intent_id ORDER BY resource_id;
		DELETE FROM rival.reservation WHERE intent_id = prior.intent_id;
		UPDATE rival.intent
		   SET state = 'canceled', revision = revision + 1,
			   changed_at = clock_timestamp(), changed_role = caller
		 WHERE intent_id = prior.intent_id;
	END IF;
	RETURN ROW('canceled', 'canceled', 'not_required', 'none', prior.receipt,
			   prior.state IS NOT DISTINCT FROM 'canceled', NULL)::public.booking_result;
END
$$;

/*
 * The row-lock design for one hot resource, reduced to its core: the lock on
 * the resource's row and the reservation, without any intent or check.
 */
CREATE FUNCTION rival.row_lock_insert(a_id bigint, a_resource text, a_during tstzrange)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	known bigint;
BEGIN
	SELECT resource_id INTO known FROM rival.resource
	 WHERE tenant = 'bench' AND resource = a_resource FOR NO KEY UPDATE;
	INSERT INTO rival.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	VALUES (a_id, known, 0, 0, a_during, 'bench')
	ON CONFLICT ON CONSTRAINT reservation_lane_excl DO NOTHING;
	RETURN FOUND;
END
$$;

/* One row, and the two rows of a claim unchecked, as functions for a loop. */
CREATE FUNCTION rival.insert_one(n bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO rival.one_row (resource_id, during)
	VALUES (rival.resource_of(n), rival.during_of(n));
	RETURN FOUND;
END
$$;

CREATE FUNCTION rival.insert_two(n bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	quarter tstzrange := rival.during_of(n);
	resource bigint := rival.resource_of(n);
BEGIN
	WITH i AS (
		INSERT INTO rival.intent (created_at, changed_at, version, units, tenant,
			principal, intent, disposition, state, receipt, resources, during,
			terms, created_role, changed_role)
		VALUES (now(), now(), 1, 1, 'bench', 'p' || n % 100, 'i' || n, 'committed',
			'committed', 'local:' || replace(gen_random_uuid()::text, '-', ''),
			ARRAY['r' || resource], quarter, '{"purpose": "bench"}', 'bench_app',
			'bench_app')
		RETURNING intent_id)
	INSERT INTO rival.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	SELECT intent_id, resource + 1, 0, 0, quarter, 'bench' FROM i;
	RETURN FOUND;
END
$$;
