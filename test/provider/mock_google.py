#!/usr/bin/env python3
"""test/provider/mock_google.py

A Google Calendar and a token endpoint for the tests, by what is documented.

    mock_google.py PORT

No live account is at hand where tests run, so each behaviour names its source,
and where sources leave something open the stricter reading is taken: what the
adapter may not rely on does not happen here.

    G-REF    reference of Calendar API v3, as the types of the npm package
             @googleapis/calendar 16.0.0 have it
    G-ERR    developers.google.com/workspace/calendar/api/guides/errors
    G-SYNC   developers.google.com/calendar/v3/sync
    G-VER    developers.google.com/calendar/api/guides/version-resources
    G-SA     developers.google.com/identity/protocols/oauth2/service-account

Whatever a request does that a client of Google should not do is a complaint;
tests demand that there is none.  Control is by requests to /_control:

    POST /_control/state     {"calendars": [...], "tokens": {...}, ...}
    POST /_control/fault     {"match": "POST /calendars", "action": ..., "times": n,
                              "after": so many that match}
    POST /_control/edit      {"calendar", "id", "set": {...} or "delete": true}
    POST /_control/fill      {"calendar", "count", "keep": every which remains}
    POST /_control/vanish    {"calendar", "ids"}, without a trace
    GET  /_control/log       requests, complaints, events, token calls
    GET  /_control/brief     how many requests, and complaints
"""

import base64
import hashlib
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote, urlsplit

LOCK = threading.RLock()

# Writes under way, by calendar.  Quick writes to one calendar may be limited at
# any time (quota guide), so two at a time are a complaint.
WRITING = {}
WRITING_LOCK = threading.Lock()

# Parameters of each method (G-REF); any other one is a complaint.
PARAMETERS = {
    "insert": {"sendUpdates", "conferenceDataVersion"},
    "patch": {"sendUpdates", "conferenceDataVersion"},
    "delete": {"sendUpdates"},
    "get": set(),
    "list": {"fields", "maxResults", "pageToken", "privateExtendedProperty",
             "singleEvents", "syncToken", "timeMin", "timeMax"},
    "instances": {"fields", "maxResults", "pageToken", "timeMin", "timeMax"},
}

# What cannot be combined with syncToken (G-REF, events.list).
NOT_WITH_TOKEN = {"iCalUID", "orderBy", "privateExtendedProperty", "q",
                  "sharedExtendedProperty", "timeMin", "timeMax", "updatedMin"}


class World:
    """Everything there is."""

    def __init__(self):
        self.calendars = {}
        self.clock = 0              # grows with every change
        self.faults = []
        self.requests = []
        self.complaints = []
        self.access = {"static": None}      # token -> time of its end, None: never
        self.refresh = {"refresh-0"}        # refresh tokens that are good
        self.rotate = False
        self.lifetime = 3600
        self.token_calls = []
        self.token_error = None             # [status, error]
        self.token_delay = 0
        self.public_key = None              # [n, e] of a service account
        self.page_size = None               # fewer than asked for, if set
        self.dead_before = 0                # tokens of an earlier clock are dead
        self.channels = {}                  # id -> what was asked for, with its resource
        self.meet = 0                       # readings before a conference is there, or "failure"
        self.people = {}                    # address -> busy times, or the reason of an error
        self.serial = 0
        self.pause = 0.01                   # that a write takes
        self.held = 0                       # requests that were slow before they were done

    def tick(self):
        self.clock += 1
        return self.clock


WORLD = World()


class Refusal(Exception):
    """An error of the API (G-ERR)."""

    def __init__(self, status, reason, domain="global"):
        super().__init__(reason)
        self.status = status
        self.body = {"error": {"code": status, "message": "SECRET-MESSAGE", "errors": [
            {"domain": domain, "reason": reason, "message": "SECRET-MESSAGE"}]}}


def etag():
    return '"%d"' % (3000000000000 + WORLD.clock * 1000)


def view(event):
    """An event as it is returned.  Of a deleted one only the id is sure to be
    there (G-REF, status), so nothing else is."""
    if event["status"] == "cancelled":
        keep = {"kind", "id", "status", "etag"}
        if "recurringEventId" in event:
            keep |= {"recurringEventId", "originalStartTime"}
        return {k: v for k, v in event.items() if k in keep}
    return {k: v for k, v in event.items() if not k.startswith("_")}


def select(value, fields):
    """A part of a value, by the parameter "fields" (partial response)."""
    def parse(text):
        names, depth, start = [], 0, 0
        for i, c in enumerate(text + ","):
            if c == "(":
                depth += 1
            elif c == ")":
                depth -= 1
            elif c == "," and depth == 0:
                names.append(text[start:i])
                start = i + 1
        return names

    def pick(value, text):
        if isinstance(value, list):
            return [pick(v, text) for v in value]
        result = {}
        for name in parse(text):
            match = re.fullmatch(r"([A-Za-z]+)(?:\((.*)\)|/(.*))?", name)
            if not match:
                raise Refusal(400, "invalidParameter")
            key, inner = match.group(1), match.group(2) or match.group(3)
            if key not in value:
                continue
            result[key] = pick(value[key], inner) if inner else value[key]
        return result

    return pick(value, fields) if fields else value


def merge(target, change):
    """Patch semantics: what is given replaces, null removes, objects are
    merged, arrays are replaced as a whole (G-REF, patch)."""
    for key, value in change.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict) and isinstance(target.get(key), dict):
            merge(target[key], value)
        else:
            target[key] = value


class Api:
    """The methods of the API, on a world that is locked."""

    def __init__(self, handler):
        self.handler = handler

    def complain(self, text):
        WORLD.complaints.append(text)

    def calendar(self, name):
        # not there and not visible are answered alike (G-ERR, notFound)
        if name not in WORLD.calendars:
            raise Refusal(404, "notFound")
        return WORLD.calendars[name]

    def check(self, method, query):
        for name in set(query) - PARAMETERS[method]:
            self.complain("%s: parameter %s" % (method, name))
        if method in ("insert", "patch", "delete"):
            if query.get("sendUpdates") not in ("all", "externalOnly", "none"):
                self.complain("%s: who is mailed is not said" % method)

    def conference(self, event, query):
        """A conference is made later, and only if the version says so (G-REF,
        conferenceDataVersion, createRequest.status)."""
        data = event.get("conferenceData")
        if data is None:
            return
        if query.get("conferenceDataVersion") != "1":
            del event["conferenceData"]
            return
        request = data.get("createRequest", {})
        if not request.get("requestId"):
            raise Refusal(400, "invalid")
        request["status"] = {"statusCode": "pending"}

    def check_times(self, event):
        start, end = event.get("start"), event.get("end")
        if not start or not end:
            raise Refusal(400, "required")
        for value in (start, end):
            if ("date" in value) == ("dateTime" in value):
                raise Refusal(400, "invalid")
        if (start.get("dateTime") or start.get("date")) > (end.get("dateTime") or end.get("date")):
            raise Refusal(400, "timeRangeEmpty")

    def insert(self, name, query, body):
        self.check("insert", query)
        calendar = self.calendar(name)
        # characters and length of an id (G-REF, Event.id)
        if not re.fullmatch(r"[a-v0-9]{5,1024}", body.get("id", "")):
            raise Refusal(400, "invalid")
        for field in ("organizer", "creator", "etag", "status", "sequence"):
            if field in body:
                self.complain("insert: %s" % field)
        self.check_times(body)
        # a deleted event keeps its id for ever (googleapis/google-api-ruby-client#1811)
        if body["id"] in calendar:
            raise Refusal(409, "duplicate")
        event = dict(body)
        self.conference(event, query)
        WORLD.tick()
        event.update(kind="calendar#event", status="confirmed", etag=etag(), sequence=0,
                     iCalUID=body["id"] + "@google.com", _changed=WORLD.clock,
                     organizer={"email": name, "self": True},
                     creator={"email": "bot@example.org"})
        # whoever is invited has not answered, unless it is said
        for attendee in event.get("attendees", []):
            attendee.setdefault("responseStatus", "needsAction")
        calendar[event["id"]] = event
        return 200, view(event)

    def find(self, name, ident):
        calendar = self.calendar(name)
        if ident not in calendar:
            raise Refusal(404, "notFound")
        return calendar[ident]

    def match(self, event, method):
        """If-Match (G-VER): exactly the ETag, quotes included."""
        wanted = self.handler.headers.get("If-Match")
        if wanted is None:
            self.complain("%s without If-Match" % method)
        elif wanted != event["etag"]:
            raise Refusal(412, "conditionNotMet")

    def patch(self, name, ident, query, body):
        self.check("patch", query)
        event = self.find(name, ident)
        self.match(event, "patch")
        if event["status"] == "cancelled":
            # contradictory: some say that it revives, some 403; nobody may rely on it
            raise Refusal(403, "forbidden")
        for field in ("id", "organizer", "etag", "status", "sequence", "iCalUID"):
            if field in body:
                self.complain("patch: %s" % field)
        for field in ("summary", "location", "description", "transparency"):
            if field in body and body[field] == event.get(field):
                self.complain("patch: %s does not change" % field)
        fresh = json.loads(json.dumps(event))
        merge(fresh, body)
        if "conferenceData" in body:
            self.conference(fresh, query)
        self.check_times(fresh)
        WORLD.tick()
        fresh.update(etag=etag(), _changed=WORLD.clock)
        # Google counts by itself, and not every change
        if "start" in body:
            fresh["sequence"] += 1
        WORLD.calendars[name][ident] = fresh
        return 200, view(fresh)

    def delete(self, name, ident, query):
        self.check("delete", query)
        event = self.find(name, ident)
        if event["status"] == "cancelled":
            raise Refusal(410, "deleted")
        self.match(event, "delete")
        WORLD.tick()
        event.update(status="cancelled", etag=etag(), _changed=WORLD.clock)
        return 204, None

    def get(self, name, ident, query):
        self.check("get", query)
        event = self.find(name, ident)
        self.make_conference(event)
        return 200, view(event)

    def make_conference(self, event):
        """A conference is made some time after it was asked for; its entry points
        are there then, and not before (G-REF, ConferenceData.entryPoints)."""
        data = event.get("conferenceData", {})
        status = data.get("createRequest", {}).get("status")
        if not status or status["statusCode"] != "pending":
            return
        if WORLD.meet == "failure":
            status["statusCode"] = "failure"
        elif event.setdefault("_readings", 0) < WORLD.meet:
            event["_readings"] += 1
        else:
            status["statusCode"] = "success"
            data["entryPoints"] = [{"entryPointType": "video",
                                    "uri": "https://meet.example.org/" + event["id"]}]

    def listing(self, name, query):
        self.check("list", query)
        calendar = self.calendar(name)
        if query.get("singleEvents") == "true":
            return self.instances(name, None, query, "list")
        token, since = query.get("syncToken"), 0
        frozen = {k: v for k, v in query.items() if k not in ("syncToken", "pageToken")}
        shape = hashlib.sha256(json.dumps(frozen, sort_keys=True).encode()).hexdigest()[:8]
        if token is not None:
            for field in NOT_WITH_TOKEN & set(query):
                raise Refusal(400, "invalid")
            match = re.fullmatch(r"sync/(\d+)/(\w+)=", token)
            # other parameters than at first are undefined (G-SYNC): refused
            if not match or match.group(2) != shape:
                raise Refusal(400, "invalid")
            since = int(match.group(1))
            if since < WORLD.dead_before:
                raise Refusal(410, "fullSyncRequired", "calendar")
        events = [e for e in calendar.values() if e["_changed"] > since]
        # deleted events are told with a token only, but for exceptions (G-REF, showDeleted)
        if token is None:
            events = [e for e in events if e["status"] != "cancelled" or "recurringEventId" in e]
        wanted = query.get("privateExtendedProperty")
        if wanted is not None:
            key, value = wanted.split("=", 1)
            events = [e for e in events if e.get("extendedProperties", {}).get("private", {}).get(key) == value]
        events.sort(key=lambda e: e["_changed"])
        end = {} if wanted else {"nextSyncToken": "sync/%d/%s=" % (WORLD.clock, shape)}
        result = self.page(query, [view(e) for e in events], end, token)
        result.update(kind="calendar#events", accessRole="owner")
        return 200, select(result, query.get("fields"))

    def watch(self, name, body):
        """A channel: an id of the client, used once; the time it ends is in
        milliseconds, as text (developers.google.com/calendar/v3/push)."""
        self.calendar(name)
        if set(body) != {"id", "type", "address", "token", "expiration"} or body["type"] != "web_hook" or \
                not re.fullmatch(r"[A-Za-z0-9\-_+/=]{1,64}", body["id"]):
            self.complain("watch: %s" % sorted(body))
        if body["id"] in WORLD.channels:
            raise Refusal(400, "channelIdNotUnique")
        WORLD.serial += 1
        WORLD.channels[body["id"]] = dict(body, calendar=name, resource="res%d" % WORLD.serial, open=True)
        return 200, {"kind": "api#channel", "id": body["id"], "resourceId": "res%d" % WORLD.serial,
                     "resourceUri": "x", "token": body["token"], "expiration": body["expiration"]}

    def stop(self, body):
        channel = WORLD.channels.get(body.get("id"))
        if set(body) != {"id", "resourceId"}:
            self.complain("stop: %s" % sorted(body))
        if not channel or not channel["open"] or channel["resource"] != body["resourceId"]:
            raise Refusal(404, "notFound")
        channel["open"] = False
        return 204, None

    def free_busy(self, body):
        """When people are busy.  What goes wrong with one of them is told inside
        the 200 (G-REF, FreeBusyCalendar.errors), also of those nobody knows."""
        if set(body) != {"timeMin", "timeMax", "items"} or len(body["items"]) > 50:
            self.complain("freeBusy: %s" % sorted(body))
        told = {}
        for name in (item["id"] for item in body["items"]):
            known = WORLD.people.get(name, "notFound")
            told[name] = {"errors": [{"domain": "global", "reason": known}]} if isinstance(known, str) else \
                {"busy": [{"start": s, "end": e} for s, e in known
                          if e > body["timeMin"] and s < body["timeMax"]]}
        return 200, {"kind": "calendar#freeBusy", "calendars": told}

    def page(self, query, items, end, token):
        """A page.  The first of several may be empty (G-REF, maxResults), and
        the token comes with the last one only (G-SYNC)."""
        size = min(int(query.get("maxResults", 250)), WORLD.page_size or 2500)
        at = 0
        if "pageToken" in query:
            # a page belongs to the request that it came from
            match = re.fullmatch(r"page (\d+) ([^ ]*)", query["pageToken"])
            if not match or match.group(2) != (token or "-"):
                raise Refusal(400, "invalid")
            at = int(match.group(1))
        elif len(items) > size:
            return {"items": [], "nextPageToken": "page 0 " + (token or "-")}
        result = {"items": items[at:at + size]}
        if at + size < len(items):
            result["nextPageToken"] = "page %d %s" % (at + size, token or "-")
        else:
            result.update(end)
        return result

    def instances(self, name, ident, query, method="instances"):
        """Instances that meet a window.  Series are stored with theirs."""
        self.check(method, query)
        calendar = self.calendar(name)
        if "timeMin" not in query or "timeMax" not in query:
            self.complain("%s without a window" % method)
        if ident is not None:
            series = self.find(name, ident)
            if series["status"] == "cancelled":
                raise Refusal(410, "deleted")
            if "recurrence" not in series:
                raise Refusal(400, "invalid")
            pool = list(series.get("_instances", []))
        else:
            pool = [e for e in calendar.values() if "recurrence" not in e]
            pool += [i for e in calendar.values() for i in e.get("_instances", [])]
        found = [e for e in pool if e["status"] != "cancelled" and
                 e["end"]["dateTime"] > query["timeMin"] and e["start"]["dateTime"] < query["timeMax"]]
        return 200, select(self.page(query, [view(e) for e in found], {}, None), query.get("fields"))


def verify_assertion(assertion, audience):
    """RS256 (RFC 7518, 3.3) by hand, and the claims (G-SA)."""
    def decode(text):
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    head, claims, signature = assertion.split(".")
    n, e = WORLD.public_key
    message = hashlib.sha256((head + "." + claims).encode()).digest()
    prefix = bytes.fromhex("3031300d060960864801650304020105000420")
    size = (n.bit_length() + 7) // 8
    expected = b"\x00\x01" + b"\xff" * (size - len(prefix) - 35) + b"\x00" + prefix + message
    got = pow(int.from_bytes(decode(signature), "big"), e, n).to_bytes(size, "big")
    values = json.loads(decode(claims))
    now = time.time()
    return got == expected and json.loads(decode(head)) == {"alg": "RS256", "typ": "JWT"} and \
        values["aud"] == audience and values["iat"] <= now and \
        now < values["exp"] <= values["iat"] + 3600 and values["scope"] != ""


def token_answer(form, audience):
    """The token endpoint (RFC 6749, 5)."""
    WORLD.token_calls.append({k: v for k, v in form.items() if k in ("grant_type", "refresh_token", "scope")})
    if WORLD.token_error:
        return WORLD.token_error[0], {"error": WORLD.token_error[1], "error_description": "SECRET-MESSAGE"}
    grant = form.get("grant_type")
    answer = {}
    if grant == "refresh_token":
        if form.get("client_id") != "client" or form.get("client_secret") != "SECRET-CLIENT":
            return 401, {"error": "invalid_client"}
        if form.get("refresh_token") not in WORLD.refresh:
            return 400, {"error": "invalid_grant"}
        if WORLD.rotate:
            # the old one is dead as soon as the new one is made
            WORLD.refresh.remove(form["refresh_token"])
            WORLD.serial += 1
            answer["refresh_token"] = "refresh-%d" % WORLD.serial
            WORLD.refresh.add(answer["refresh_token"])
    elif grant == "client_credentials":
        if form.get("client_secret") != "SECRET-CLIENT":
            return 401, {"error": "invalid_client"}
    elif grant == "urn:ietf:params:oauth:grant-type:jwt-bearer":
        if not WORLD.public_key or not verify_assertion(form["assertion"], audience):
            return 400, {"error": "invalid_grant"}
    else:
        return 400, {"error": "unsupported_grant_type"}
    WORLD.serial += 1
    token = "SECRET-TOKEN-%d" % WORLD.serial
    WORLD.access[token] = time.time() + WORLD.lifetime
    answer.update(access_token=token, expires_in=WORLD.lifetime, token_type="Bearer")
    return 200, answer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or what follows the headers waits for 40 ms
    writes = None                   # calendar that is written to

    def log_message(self, *args):
        pass

    def do(self):
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length) if length else b""
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.path.startswith("/_control/"):
            with LOCK:
                return self.send(200, control(parts.path[10:], json.loads(raw or b"null")))
        if parts.path == "/token":
            return self.token(raw)
        calendar = parts.path.split("/")[2:3] if self.command != "GET" else None
        if not calendar or parts.path.endswith(("/watch", "/stop")):
            return self.api(parts, query, raw)
        with WRITING_LOCK:
            WRITING[calendar[0]] = WRITING.get(calendar[0], 0) + 1
            if WRITING[calendar[0]] > 1:
                WORLD.complaints.append("two writes to a calendar at a time")
        self.writes = calendar[0]
        time.sleep(WORLD.pause)
        try:
            self.api(parts, query, raw)
        finally:
            self.wrote()

    def wrote(self):
        """A write is over: before its answer goes out, or the next one could
        come in before that."""
        if self.writes is not None:
            with WRITING_LOCK:
                WRITING[self.writes] -= 1
            self.writes = None

    def api(self, parts, query, raw):
        with LOCK:
            WORLD.requests.append({"method": self.command, "path": self.path, "body": raw.decode(),
                                   "headers": self.headers.items()})
            fault = self.take_fault()
            action = fault["action"] if fault else None
            if action == "drop_before":
                return self.drop()
            if action == "slow_before":
                WORLD.held += 1
                self.wrote()        # who waits for this dies meanwhile
                LOCK.release()
                time.sleep(3)
                LOCK.acquire()
                return self.drop()
            if isinstance(action, list):
                return self.send(action[0], Refusal(action[0], action[1], "usageLimits").body,
                                 action[2] if len(action) > 2 else None)
            if action == "gateway":
                return self.send_raw(502, b"<html>SECRET-MESSAGE</html>", "text/html")
            status, answer = self.answer(parts, query, raw)
        if action == "slow_after":
            self.wrote()
            time.sleep(3)
        if action == "drop_after":
            return self.drop()
        if action == "broken_after":
            return self.send(503, Refusal(503, "backendError").body)
        if action == "other_id":
            answer = dict(answer, id="other0000")
        if action == "empty":
            return self.send_raw(200, b"", "application/json")
        if action == "cut":
            text = json.dumps(answer).encode()
            return self.send_raw(200, text[:len(text) // 2], "application/json")
        return self.send(status, answer)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = do

    def take_fault(self):
        for fault in WORLD.faults:
            if fault["times"] > 0 and re.match(fault["match"], self.command + " " + unquote(self.path)):
                if fault["after"] > 0:
                    fault["after"] -= 1
                    continue
                fault["times"] -= 1
                return fault
        return None

    def answer(self, parts, query, raw):
        try:
            bearer = self.headers.get("Authorization", "")
            end = WORLD.access.get(bearer[7:], 0) if bearer.startswith("Bearer ") else 0
            if end is not None and end < time.time():
                raise Refusal(401, "authError")
            segments = [unquote(s) for s in parts.path.split("/")[1:]]
            if segments[0] == "users":
                return 200, {"items": [{"id": c, "accessRole": "owner"} for c in WORLD.calendars]}
            if segments == ["channels", "stop"]:
                return Api(self).stop(json.loads(raw))
            if segments == ["freeBusy"]:
                return Api(self).free_busy(json.loads(raw))
            if segments[0] != "calendars":
                raise Refusal(404, "notFound")
            api = Api(self)
            body = None
            if raw:
                if not self.headers.get("Content-Type", "").startswith("application/json"):
                    api.complain("a body that is not said to be JSON")
                body = json.loads(raw)
            rest = segments[2:]
            if rest == ["events", "watch"]:
                return api.watch(segments[1], body)
            if not rest:
                api.calendar(segments[1])
                return 200, {"id": segments[1]}
            if rest == ["events"]:
                if self.command == "POST":
                    return api.insert(segments[1], query, body)
                return api.listing(segments[1], query)
            if len(rest) == 3 and rest[2] == "instances":
                return api.instances(segments[1], rest[1], query)
            if self.command == "PATCH":
                return api.patch(segments[1], rest[1], query, body)
            if self.command == "DELETE":
                return api.delete(segments[1], rest[1], query)
            if self.command == "GET":
                return api.get(segments[1], rest[1], query)
            raise Refusal(405, "httpMethodNotAllowed")
        except Refusal as refusal:
            return refusal.status, refusal.body

    def token(self, raw):
        form = dict(parse_qsl(raw.decode()))
        if WORLD.token_delay:
            time.sleep(WORLD.token_delay)
        with LOCK:
            if self.headers.get("Authorization"):
                WORLD.complaints.append("token: a credential in a header")
            status, answer = token_answer(form, "http://%s/token" % self.headers["Host"])
        self.send(status, answer)

    def drop(self):
        self.wrote()
        self.close_connection = True
        self.connection.shutdown(2)

    def send(self, status, answer, retry_after=None):
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_raw(status, body, "application/json; charset=UTF-8", retry_after)

    def send_raw(self, status, body, kind, retry_after=None):
        self.wrote()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        if retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        # what others write into headers is nobody's business either
        self.send_header("WWW-Authenticate", 'Bearer realm="SECRET-HEADER", error="SECRET-HEADER"')
        self.send_header("X-Request-Id", "SECRET-HEADER")
        self.end_headers()
        if status != 204:
            self.wfile.write(body)


def fill(calendar, count, keep):
    """Many events of others, or, without a trace for a dead token, fewer."""
    for i in range(count):
        ident = "fill%06d" % i
        WORLD.tick()
        if keep is None:
            calendar[ident] = {
                "kind": "calendar#event", "id": ident, "status": "confirmed", "sequence": 0,
                "iCalUID": ident + "@google.com", "etag": etag(), "_changed": WORLD.clock,
                "start": {"dateTime": "2030-07-%02dT%02d:00:00Z" % (1 + i % 28, i % 23)},
                "end": {"dateTime": "2030-07-%02dT%02d:30:00Z" % (1 + i % 28, i % 23)}}
        elif i % keep:
            del calendar[ident]


def control(what, value):
    """What tests do to the world, and see of it."""
    if what == "fault":
        WORLD.faults.append(dict({"times": 1, "after": 0}, **value))
    elif what == "state":
        for name in value.pop("calendars", []):
            WORLD.calendars.setdefault(name, {})
        if value.pop("remove", None) is not None:
            WORLD.calendars.clear()
        if value.pop("kill_tokens", False):
            WORLD.dead_before = WORLD.tick()
        if value.pop("expire_access", False):
            WORLD.access = {}
        if "refresh" in value:
            WORLD.refresh = set(value.pop("refresh"))
        for key, setting in value.items():
            if not hasattr(WORLD, key):
                raise ValueError(key)
            setattr(WORLD, key, setting)
    elif what == "fill":
        fill(WORLD.calendars[value["calendar"]], value["count"], value.get("keep"))
        return {}
    elif what == "vanish":
        for ident in value["ids"]:
            del WORLD.calendars[value["calendar"]][ident]
        return {}
    elif what == "brief":
        return {"requests": len(WORLD.requests), "held": WORLD.held, "complaints": WORLD.complaints}
    elif what == "edit":
        calendar = WORLD.calendars[value["calendar"]]
        WORLD.tick()
        if value.get("delete"):
            calendar[value["id"]]["status"] = "cancelled"
        else:
            event = calendar.setdefault(value["id"], {
                "kind": "calendar#event", "id": value["id"], "status": "confirmed",
                "sequence": 0, "iCalUID": value["id"] + "@google.com",
                "organizer": {"email": "somebody@example.org"}})
            merge(event, value["set"])
        calendar[value["id"]].update(etag=etag(), _changed=WORLD.clock)
    return {"channels": WORLD.channels, "requests": WORLD.requests, "complaints": WORLD.complaints,
            "token_calls": WORLD.token_calls, "refresh": sorted(WORLD.refresh),
            "calendars": {name: {i: dict(e) for i, e in calendar.items()}
                          for name, calendar in WORLD.calendars.items()}}


def main():
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    print("listening", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
