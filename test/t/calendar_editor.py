#!/usr/bin/env python3
"""Somebody who edits a calendar, at random.

    calendar_editor.py KIND SEED PORT USER PASSWORD PATH DAY OBJECTS

Changes the calendar PATH of a CalDAV server on this machine: events of one
time, of whole days and without busy time, series with dates left out, added,
moved and canceled, by themselves or with all that follow, in several zones, most
of them near DAY (as 20300501), about OBJECTS of them.
Events are created, edited, moved, deleted, put back, put under another name and
given another's name.  The same seed makes the same edits.

Reads how many edits to make, a line each, and answers with a line of what was
done.  Ends when its standard input does.
"""

import base64
import copy
import datetime
import http.client
import random
import sys
import urllib.parse
import zoneinfo

import calendar_truth as truth

# zones that change their clocks in the north and in the south, by half an hour,
# and not at all
ZONES = (
    "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe",
    "Australia/Sydney", "Asia/Kathmandu", "Africa/Casablanca", "America/St_Johns",
)
DAY = datetime.timedelta(days=1)
MINUTE = datetime.timedelta(minutes=1)
NAMES = (
    "", " with blanks", " ümläut", "@example.org", "+plus", "(brackets)", "=a&b", ",;", "~'!", "%41",
)


class Server:
    """The calendar, as a client sees it."""

    def __init__(self, port, user, password, path):
        self.port = int(port)
        self.path = path
        login = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.headers = {"Authorization": f"Basic {login}"}

    def request(self, method, name, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        target = self.path + urllib.parse.quote(name)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, body, {**self.headers, **headers})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status not in (200, 201, 204):
            raise SystemExit(f"{method} {target}: {answer.status} {content!r}\n{body}")

    def put(self, name, text):
        self.request("PUT", name, text.encode(), Content_Type="text/calendar; charset=utf-8")

    def delete(self, name):
        self.request("DELETE", name)

    def move(self, name, other):
        target = f"http://127.0.0.1:{self.port}{self.path}{urllib.parse.quote(other)}"
        self.request("MOVE", name, Destination=target)


class When:
    """A time that can be written: a wall time and its zone."""

    def __init__(self, local, zone):
        self.local = local
        self.zone = zone  # "date", "UTC", "" for floating, or a name

    def at(self, local):
        return When(local, self.zone)

    @property
    def params(self):
        if self.zone == "date":
            return ";VALUE=DATE"
        return "" if self.zone in ("", "UTC") else f";TZID={self.zone}"

    @property
    def word(self):
        if self.zone == "date":
            return self.local.strftime("%Y%m%d")
        return self.local.strftime("%Y%m%dT%H%M%S") + ("Z" if self.zone == "UTC" else "")

    @property
    def instant(self):
        return self.local.replace(tzinfo=zoneinfo.ZoneInfo(self.zone or "UTC"))


def fold(line):
    """Fold a line as RFC 5545 has it, between characters."""
    parts = [""]
    for char in line:
        if len((parts[-1] + char).encode()) > 74:
            parts.append("")
        parts[-1] += char
    return "\r\n ".join(parts)


class Editor:
    def __init__(self, seed, server, day, objects):
        self.random = random.Random(seed)
        self.server = server
        self.day = datetime.datetime.strptime(day, "%Y%m%d")
        self.objects = int(objects)
        self.there = {}  # name to event
        self.gone = []  # names and events that were deleted
        self.made = 0

    # What can be in an event

    def some_local(self, zone):
        """A time near the day, now and then where clocks change."""
        days = self.random.choice((self.random.randint(-60, 90), self.random.randint(-20, 20)))
        local = self.day + days * DAY
        if zone == "date":
            return local
        if self.random.random() < 0.2:
            local = self.near_change(zone, local) or local
        return local + self.random.randint(0, 95) * 15 * MINUTE

    def near_change(self, zone, local):
        """The next day on which the clocks of a zone change."""
        if zone in ("", "UTC"):
            return None
        info = zoneinfo.ZoneInfo(zone)
        for _ in range(200):
            if info.utcoffset(local) != info.utcoffset(local + DAY):
                return local
            local += DAY
        return None

    def some_zone(self):
        return self.random.choice(("UTC", "UTC", "", "date", *self.random.sample(ZONES, 4)))

    def some_length(self, zone):
        """DTEND as elapsed time or days, DURATION as a word, or neither."""
        pick = self.random.random()
        if zone == "date":
            return None if pick < 0.3 else self.random.randint(1, 4) * DAY
        if pick < 0.06:
            return None
        if pick < 0.25:
            return self.random.choice(("PT45M", "PT1H30M", "P1D", "P1DT2H", "P1W", "PT0S"))
        return self.random.choice((0, 15, 30, 60, 60, 90, 600, 1440, 2000)) * MINUTE

    def some_rule(self, start):
        weekdays = self.random.sample(truth.WEEKDAYS, self.random.randint(1, 3))
        hourly = start.zone == "UTC" and self.random.random() < 0.15
        rule = "FREQ=HOURLY" if hourly else self.random.choice((
            "FREQ=DAILY", "FREQ=WEEKLY", f"FREQ=WEEKLY;BYDAY={','.join(weekdays)}",
            "FREQ=MONTHLY", f"FREQ=MONTHLY;BYMONTHDAY={self.random.choice((1, 15, 29, 31))}",
            f"FREQ=MONTHLY;BYDAY={self.random.choice((-1, 1, 2, 3, 4))}{weekdays[0]}",
            "FREQ=YEARLY",
        ))
        if self.random.random() < 0.4:
            rule += f";INTERVAL={self.random.randint(2, 5)}"
        pick = self.random.random()
        if pick < 0.5 or hourly:
            rule += f";COUNT={self.random.randint(1, 30)}"
        elif pick < 0.8:
            end = start.local + self.random.randint(0, 200) * DAY
            end = When(end, "date" if start.zone == "date" else "UTC")
            rule += f";UNTIL={end.word}"
        return rule

    def some_people(self):
        """Organizer and attendees, or nobody."""
        if self.random.random() < 0.6:
            return []
        lines = ["ORGANIZER:mailto:boss@example.org"]
        for name in self.random.sample(("ann", "bob", "cyd", "dee"), self.random.randint(0, 4)):
            answer = self.random.choice(("", ";PARTSTAT=ACCEPTED", ";PARTSTAT=NEEDS-ACTION"))
            role = self.random.choice(("", "", ";ROLE=OPT-PARTICIPANT", ";ROLE=REQ-PARTICIPANT"))
            lines.append(f"ATTENDEE{role}{answer};CN={name}:mailto:{name}@example.org")
        return lines

    def some_event(self, uid):
        zone = self.some_zone()
        event = {
            "uid": uid, "start": When(self.some_local(zone), zone),
            "length": self.some_length(zone), "sequence": self.random.choice((None, 0, 1)),
            "status": self.random.choice((None, None, "CONFIRMED", "TENTATIVE", "CANCELLED")),
            "transparency": self.random.choice((None, None, "OPAQUE", "TRANSPARENT")),
            "people": self.some_people(), "summary": "first", "alarm": self.random.random() < 0.2,
            "future": False, "rule": None, "out": [], "added": [], "changes": {},
        }
        if self.random.random() < 0.45:
            event["rule"] = self.some_rule(event["start"])
        return event

    # How it is written

    def lines(self, event, start, length, original=None):
        found = ["BEGIN:VEVENT", f"UID:{event['uid']}", "DTSTAMP:20300101T000000Z"]
        if original is not None:
            future = ";RANGE=THISANDFUTURE" if event["future"] else ""
            found.append(f"RECURRENCE-ID{future}{original.params}:{original.word}")
        found.append(f"DTSTART{start.params}:{start.word}")
        if isinstance(length, str):
            found.append(f"DURATION:{length}")
        elif length is not None:
            found.append(self.end_line(start, length))
        names = {"sequence": "SEQUENCE", "status": "STATUS", "transparency": "TRANSP"}
        found += [f"{names[key]}:{event[key]}" for key in names if event[key] is not None]
        return [*found, *event["people"], f"SUMMARY:{event['summary']}"]

    @staticmethod
    def end_line(start, length):
        """DTEND so much later: on the clock, or on that of UTC when that would
        end before it begins."""
        end = start.at(start.local + length)
        if start.zone not in ("date", "", "UTC"):
            later = (start.instant.astimezone(truth.UTC) + length).replace(tzinfo=None)
            if end.instant.astimezone(truth.UTC) < start.instant.astimezone(truth.UTC) + length:
                end = When(later, "UTC")
        return f"DTEND{end.params}:{end.word}"

    def text(self, event):
        lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN"]
        start = event["start"]
        lines += self.lines(event, start, event["length"])
        if event["rule"]:
            lines.append(f"RRULE:{event['rule']}")
        for name, dates in (("EXDATE", event["out"]), ("RDATE", event["added"])):
            if dates:
                words = ",".join(start.at(local).word for local in dates)
                lines.append(f"{name}{start.params}:{words}")
        if event["alarm"]:
            lines += ["BEGIN:VALARM", "ACTION:DISPLAY", "DESCRIPTION:x", "TRIGGER:-PT15M"]
            lines.append("END:VALARM")
        lines.append("END:VEVENT")
        for local, change in sorted(event["changes"].items()):
            lines += self.lines(change, change["start"], change["length"], start.at(local))
            lines.append("END:VEVENT")
        lines.append("END:VCALENDAR")
        return "".join(fold(line) + "\r\n" for line in lines)

    # What can be done to it

    def edit_time(self, event):
        zone = event["start"].zone if self.random.random() < 0.7 else self.some_zone()
        event["start"] = When(self.some_local(zone), zone)
        event["length"] = self.some_length(zone)
        event["out"], event["added"], event["changes"] = [], [], {}
        if event["rule"]:
            event["rule"] = self.some_rule(event["start"])
        event["sequence"] = (event["sequence"] or 0) + 1

    def edit_kind(self, event):
        event["status"] = self.random.choice((None, "CONFIRMED", "TENTATIVE", "CANCELLED"))
        event["transparency"] = self.random.choice((None, "OPAQUE", "TRANSPARENT"))

    def edit_people(self, event):
        event["people"] = self.some_people()

    def edit_text(self, event):
        event["summary"] = self.random.choice((
            "another", "ä" * 60, "a\\, b\\; c\\\\ d\\ne", "x" * self.random.randint(1, 200),
            "DTSTART:20300101T000000Z",
        ))

    def edit_series(self, event):
        """Leave an occurrence out, add one, move or cancel one, or undo that."""
        start = event["start"]
        if event["rule"] is None:
            event["rule"] = self.some_rule(start)
            return
        info = zoneinfo.ZoneInfo(start.zone if start.zone not in ("date", "") else "UTC")
        master = truth.Moment(start.word, {}, info)
        times = truth.rule_locals(master, event["rule"], start.local + 300 * DAY)
        local = self.random.choice(times[:40])
        pick = self.random.random()
        if pick < 0.3:
            event["changes"].pop(local, None)
            event["out"] = sorted({*event["out"], local})
        elif pick < 0.4:
            event["out"] = []
        elif pick < 0.5:
            added = start.local + self.random.randint(1, 60) * DAY
            event["added"] = sorted({*event["added"], added})
        elif pick < 0.6 and event["changes"]:
            event["changes"].pop(self.random.choice(sorted(event["changes"])))
        elif local not in event["out"]:
            event["changes"][local] = self.some_change(event, local)

    def some_change(self, event, local):
        """One occurrence, or it and all that follow, moved or canceled, perhaps to
        another zone."""
        change = self.some_event(event["uid"])
        change["future"] = self.random.random() < 0.2
        zone = event["start"].zone
        if zone != "date" and self.random.random() < 0.3:
            zone = self.random.choice(("UTC", *ZONES))
        if self.random.random() < 0.4:
            change["start"] = event["start"].at(local)
            change["status"] = "CANCELLED"
        else:
            days = self.random.choice((0, 0, 1, -3, 400))
            minutes = 0 if zone == "date" else self.random.choice((0, 45, -120))
            change["start"] = When(local + days * DAY + minutes * MINUTE, zone)
        change["length"] = self.some_length(change["start"].zone)
        change["sequence"] = self.random.randint(0, 3)
        return change

    # Edits

    def some_name(self):
        return self.random.choice(sorted(self.there))

    def new_name(self):
        self.made += 1
        return f"{self.made}{self.random.choice(NAMES)}.ics"

    def write(self, name, event):
        self.server.put(name, self.text(event))
        self.there[name] = event

    def create(self):
        name = self.new_name()
        self.write(name, self.some_event(f"uid-{self.made}"))
        return f"create {name}"

    def edit(self):
        name = self.some_name()
        event = copy.deepcopy(self.there[name])
        how = self.random.choice((
            self.edit_time, self.edit_time, self.edit_kind, self.edit_text, self.edit_people,
            self.edit_series, self.edit_series, self.edit_series,
        ))
        how(event)
        self.write(name, event)
        return f"{how.__name__} {name}"

    def there_and_back(self):
        name = self.some_name()
        before = self.there[name]
        event = copy.deepcopy(before)
        self.edit_time(event)
        self.write(name, event)
        self.write(name, before)
        return f"there and back {name}"

    def delete(self):
        name = self.some_name()
        self.server.delete(name)
        self.gone = [*self.gone[-20:], (name, self.there.pop(name))]
        return f"delete {name}"

    def put_back(self):
        """What was deleted comes again, as it was or as something else."""
        if not self.gone:
            return self.create()
        name, event = self.gone.pop(self.random.randrange(len(self.gone)))
        if name in self.there or event["uid"] in {other["uid"] for other in self.there.values()}:
            return self.create()
        if self.random.random() < 0.3:
            event = self.some_event(event["uid"])
        if self.random.random() < 0.3:
            name = self.new_name()
        self.write(name, event)
        return f"put back {name}"

    def rename(self):
        name, other = self.some_name(), self.new_name()
        event = self.there.pop(name)
        # Radicale 3.1.8 leaves escapes in the Destination as they are
        if KIND == "radicale" and urllib.parse.quote(other) == other:
            self.server.move(name, other)
            self.there[other] = event
        else:
            self.server.delete(name)
            self.write(other, event)
        return f"rename {name} {other}"

    def replace(self):
        """Another event takes the name."""
        name = self.some_name()
        self.server.delete(name)
        self.made += 1
        self.write(name, self.some_event(f"uid-{self.made}"))
        return f"replace {name}"

    def swap(self):
        """Two events change their names."""
        first, second = self.some_name(), self.some_name()
        if first == second:
            return self.create()
        events = self.there[first], self.there[second]
        self.server.delete(first)
        self.server.delete(second)
        self.write(first, events[1])
        self.write(second, events[0])
        return f"swap {first} {second}"

    def step(self):
        if len(self.there) < 10:
            return self.create()
        weights = {
            self.create: 20 if len(self.there) < self.objects else 5, self.edit: 50,
            self.there_and_back: 4, self.delete: 10, self.put_back: 6, self.rename: 6,
            self.replace: 3, self.swap: 2,
        }
        (what,) = self.random.choices(list(weights), list(weights.values()))
        return what()


def main():
    seed, port, user, password, path, day, objects = sys.argv[1:8]
    editor = Editor(seed, Server(port, user, password, path), day, objects)
    for line in sys.stdin:
        for _ in range(int(line)):
            print(editor.step(), flush=True)


if __name__ == "__main__":
    KIND = sys.argv.pop(1)
    main()
