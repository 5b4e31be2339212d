-- A receiver of deliveries in a few lines, in a schema of its own: it keeps what
-- it is given as it came, so that tests can see what bookingd hands over, and
-- does what a test asks for by the query.
CREATE SCHEMA standin;

CREATE TABLE standin.inbox (
	delivery	bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	source		text NOT NULL,
	headers		jsonb NOT NULL,
	body		bytea NOT NULL,
	query		text
);

-- What is refused at the very end, when the result was sent already.
CREATE FUNCTION standin.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'refused at commit';
END
$$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON standin.inbox
	DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW WHEN (NEW.query = 'refuse-at-commit') EXECUTE FUNCTION standin.refuse();

CREATE FUNCTION standin.booking_webhook_receive(
	a_source text, a_headers jsonb, a_body bytea, a_query text,
	OUT status integer, OUT content_type text, OUT body text, OUT verdict text)
LANGUAGE plpgsql AS $$
BEGIN
	IF a_query LIKE 'error=%' THEN
		RAISE EXCEPTION 'secret of the body: %', a_body
			USING ERRCODE = substr(a_query, 7);
	ELSIF a_query = 'wait' THEN
		PERFORM pg_advisory_xact_lock(170);
	END IF;
	INSERT INTO standin.inbox (source, headers, body, query)
		VALUES (a_source, a_headers, a_body, a_query);
	status := 200;
	verdict := 'accepted';
	IF a_query LIKE 'validationToken=%' THEN
		content_type := 'text/plain';
		body := substr(a_query, 17);
		verdict := 'validation';
	ELSIF a_query LIKE 'status=%' THEN
		status := substr(a_query, 8);
		content_type := 'application/json';
		body := '{"said": "no"}';
		verdict := 'refused "so"';
	ELSIF a_query = 'header' THEN
		content_type := E'text/plain\r\nX-Injected: yes';
		body := 'x';
	END IF;
END
$$;
