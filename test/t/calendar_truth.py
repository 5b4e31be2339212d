#!/usr/bin/env python3
"""What a calendar holds, read from its server's files without our code.

    calendar_truth.py KIND FOLDER PATH ZONE FROM UNTIL

KIND is radicale or xandikos, FOLDER where the server keeps the calendar, PATH
the calendar's path in URLs, ZONE the zone of the calendar, and FROM and UNTIL
the window of occurrences, in seconds since 1970.

Prints one line for each occurrence, its fields separated by tabs: object,
occurrence, start, end, busy, all day, recurring, status, transparency, sequence,
UID, zone, organizer, attendees, ETag; times in seconds since 1970, objects
without escapes of URLs.  Of what RFC 5545 leaves open it knows what doc/design.md
says, and of rules those that calendar_editor.py writes: anything else is an
error.  It uses the standard library only: zoneinfo knows the zones, hashes are
what both servers make ETags of.
"""

import datetime
import hashlib
import os
import re
import sys
import zoneinfo

UTC = datetime.timezone.utc
DAY = datetime.timedelta(days=1)
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
NO_OCCURRENCE = "-infinity"


class Line:
    """A content line."""

    def __init__(self, text):
        match = re.fullmatch(r'([\w-]+)((?:;[\w-]+=(?:"[^"]*"|[^":;])*)*):(.*)', text, re.DOTALL)
        if not match:
            raise ValueError(f"no content line: {text}")
        self.name = match[1].upper()
        self.value = match[3]
        self.params = {
            name.upper(): value.strip('"')
            for name, value in re.findall(r';([\w-]+)=("[^"]*"|[^":;]*)', match[2])
        }


def read_events(data):
    """The VEVENTs of an object: lists of lines, without those of parts inside."""
    text = re.sub(rb"\r?\n[ \t]", b"", data).decode()
    events = []
    open_parts = []
    for raw in re.split(r"\r?\n", text):
        if raw == "":
            continue
        line = Line(raw)
        if line.name == "BEGIN":
            open_parts.append(line.value.upper())
            if open_parts == ["VCALENDAR", "VEVENT"]:
                events.append([])
        elif line.name == "END":
            if open_parts.pop() != line.value.upper():
                raise ValueError("END of something else")
        elif open_parts == ["VCALENDAR", "VEVENT"]:
            events[-1].append(line)
    if open_parts:
        raise ValueError("an end is missing")
    return events


class Moment:
    """A time as it is written: its wall time, and the zone of that."""

    def __init__(self, word, params, zone):
        self.is_date = re.fullmatch(r"\d{8}", word) is not None
        self.zone = zone  # in which a date or a time without zone is told
        self.zone_name = ""
        if self.is_date:
            self.local = datetime.datetime.strptime(word, "%Y%m%d")
            return
        self.local = datetime.datetime.strptime(word.rstrip("Z"), "%Y%m%dT%H%M%S")
        if word.endswith("Z"):
            self.zone, self.zone_name = UTC, "UTC"
        elif "TZID" in params:
            self.zone, self.zone_name = zoneinfo.ZoneInfo(params["TZID"]), params["TZID"]

    def at(self, local):
        """The instant of another wall time there.  zoneinfo's fold 0 is what RFC
        5545 wants: the first of two, and the offset before a gap."""
        return local.replace(tzinfo=self.zone).astimezone(UTC)

    @property
    def instant(self):
        return self.at(self.local)


def one(event, name):
    """The only line of that name, or None."""
    found = [line for line in event if line.name == name]
    if len(found) > 1:
        raise ValueError(f"{name} twice")
    return found[0] if found else None


def moment(line, zone):
    return Moment(line.value, line.params, zone)


def moments(event, name, zone):
    """All times of lines that hold several."""
    return [
        Moment(word, line.params, zone)
        for line in event
        if line.name == name
        for word in line.value.split(",")
    ]


class Length:
    """How long an event is: days on the calendar, and then seconds."""

    def __init__(self, event, start, zone, usual=None):
        self.days = datetime.timedelta()
        self.rest = datetime.timedelta()
        end = one(event, "DTEND")
        duration = one(event, "DURATION")
        if end is not None and start.is_date:
            self.days = moment(end, zone).local - start.local
        elif end is not None:
            self.rest = moment(end, zone).instant - start.instant
        elif duration is not None:
            match = re.fullmatch(
                r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", duration.value
            )
            weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
            self.days = (7 * weeks + days) * DAY
            self.rest = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        elif usual is not None:
            self.days, self.rest = usual.days, usual.rest
        elif start.is_date:
            self.days = DAY
        if self.days < datetime.timedelta() or self.rest < datetime.timedelta():
            raise ValueError("an end before its start")

    def end(self, start, local):
        if self.days:
            return start.at(local + self.days) + self.rest
        return start.at(local) + self.rest


def days_of_month(year, month, parts):
    """The days of a month that BYMONTHDAY or BYDAY (1MO, -1FR) name."""
    first = datetime.date(year, month, 1)
    last = (first.replace(day=28) + 4 * DAY).replace(day=1) - DAY
    if "BYMONTHDAY" in parts:
        days = [int(day) for day in parts["BYMONTHDAY"].split(",")]
        return sorted(first.replace(day=day) for day in days if day <= last.day)
    days = []
    for word in parts["BYDAY"].split(","):
        number, weekday = int(word[:-2]), WEEKDAYS.index(word[-2:])
        fitting = [d for d in (first + n * DAY for n in range(last.day)) if d.weekday() == weekday]
        index = number - 1 if number > 0 else number
        if -len(fitting) <= index < len(fitting):
            days.append(fitting[index])
    return sorted(days)


def days_of_rule(start, parts):
    """The days that a rule means, from that of the start on, without an end."""
    interval = int(parts.get("INTERVAL", 1))
    freq = parts["FREQ"]
    period = 0
    while True:
        if freq == "DAILY":
            days = [start + period * DAY]
        elif freq == "WEEKLY":
            monday = start - start.weekday() * DAY + 7 * period * DAY
            names = parts.get("BYDAY", WEEKDAYS[start.weekday()]).split(",")
            days = [monday + n * DAY for n in sorted(WEEKDAYS.index(name) for name in names)]
        elif freq == "MONTHLY":
            month = start.month - 1 + period
            has_days = {"BYDAY", "BYMONTHDAY"} & set(parts)
            asked = parts if has_days else {"BYMONTHDAY": str(start.day)}
            days = days_of_month(start.year + month // 12, month % 12 + 1, asked)
        elif freq == "YEARLY":
            try:
                days = [start.replace(year=start.year + period)]
            except ValueError:
                days = []
        else:
            raise ValueError(f"FREQ={freq}")
        yield from (day for day in days if day >= start)
        period += interval


def locals_of_rule(start, parts):
    """Wall times that a rule means, without an end.  Of hours only those of UTC
    are known, whose clocks do not change."""
    if parts["FREQ"] == "HOURLY":
        if start.zone is not UTC or {"BYDAY", "BYMONTHDAY"} & set(parts):
            raise ValueError("FREQ=HOURLY")
        step = datetime.timedelta(hours=int(parts.get("INTERVAL", 1)))
        local = start.local
        while True:
            yield local
            local += step
    for day in days_of_rule(start.local.date(), parts):
        yield datetime.datetime.combine(day, start.local.time())


def rule_locals(start, rule, limit):
    """Wall times of a rule, the start first, up to a limit."""
    parts = dict(part.split("=") for part in rule.split(";"))
    if set(parts) - {"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "WKST"}:
        raise ValueError(f"rule {rule}")
    if parts.get("WKST", "MO") != "MO":
        raise ValueError(f"rule {rule}")
    count = int(parts["COUNT"]) if "COUNT" in parts else None
    until = Moment(parts["UNTIL"], {}, start.zone) if "UNTIL" in parts else None
    found = [start.local]
    for local in locals_of_rule(start, parts):
        if local == start.local:
            continue
        if count is not None and len(found) >= count:
            break
        if until is not None and until.is_date and local.date() > until.local.date():
            break
        if until is not None and not until.is_date and start.at(local) > until.instant:
            break
        if local > limit:
            break
        found.append(local)
    return found


def address(line):
    return line.value.removeprefix("mailto:")


def attendee(line):
    """An attendee: address, answer if there is one, and whether it is optional."""
    answer = [line.params["PARTSTAT"].lower()] if "PARTSTAT" in line.params else []
    optional = line.params.get("ROLE") in ("OPT-PARTICIPANT", "NON-PARTICIPANT")
    return "=".join([address(line), *answer, "true" if optional else "false"])


def detail(event):
    """What a VEVENT says besides its time."""
    value = {
        name: line.value if (line := one(event, name)) is not None else None
        for name in ("STATUS", "TRANSP", "SEQUENCE", "UID")
    }
    words = {None: "confirmed", "CONFIRMED": "confirmed", "TENTATIVE": "tentative"}
    status = {**words, "CANCELLED": "canceled"}[value["STATUS"] and value["STATUS"].upper()]
    transparent = (value["TRANSP"] or "").upper() == "TRANSPARENT"
    organizer = one(event, "ORGANIZER")
    return {
        "status": status,
        "transparency": "transparent" if transparent else "opaque",
        "sequence": int(value["SEQUENCE"] or 0),
        "uid": value["UID"],
        "organizer": address(organizer) if organizer is not None else None,
        "attendees": " ".join(attendee(line) for line in event if line.name == "ATTENDEE"),
        "free": transparent or status == "canceled",
    }


def occurrence(original, start, local, length, event):
    """What is known of one occurrence; original is None for a single event."""
    begin, end = start.at(local), length.end(start, local)
    known = detail(event)
    free = known.pop("free")
    return {
        "occurrence": original,
        "start": begin,
        "end": end,
        "busy": end > begin and not free,
        "all_day": start.is_date,
        "zone": start.zone_name,
        **known,
    }


def follow(ranges, instant, clocks):
    """The occurrence at an instant as the latest of the changes for all that
    follow has it: what is as much later on the clocks of the series is as much
    later on those of the change.  None without one."""
    behind = [change for change in ranges if change[0] <= instant]
    if not behind:
        return None
    original, at, length, change = max(behind, key=lambda one: one[0])
    clock = [when.astimezone(clocks).replace(tzinfo=None) for when in (instant, original)]
    return occurrence(instant, at, clock[0] + (at.local - clock[1]), length, change)


def expand(master, changes, zone, until):
    """All occurrences of a series up to an instant, and all changed ones."""
    start = moment(one(master, "DTSTART"), zone)
    length = Length(master, start, zone)
    rule = one(master, "RRULE")
    limit = until.replace(tzinfo=None) + 6 * DAY
    times = {}
    for local in rule_locals(start, rule.value, limit) if rule else [start.local]:
        times.setdefault(start.at(local), (start, local))
    for date in moments(master, "RDATE", zone):
        times.setdefault(date.instant, (date, date.local))
    for date in moments(master, "EXDATE", zone):
        for instant, (at, local) in list(times.items()):
            by_day = date.is_date and not start.is_date and local.date() == date.local.date()
            if by_day or instant == date.instant and date.is_date == start.is_date:
                del times[instant]
    found = []
    ranges = []
    for change in changes:
        named = one(change, "RECURRENCE-ID")
        original = moment(named, zone).instant
        times.pop(original, None)
        at = moment(one(change, "DTSTART"), zone)
        changed = Length(change, at, zone, length)
        found.append(occurrence(original, at, at.local, changed, change))
        if named.params.get("RANGE") == "THISANDFUTURE":
            ranges.append((original, at, changed, change))
    for instant, (at, local) in times.items():
        known = follow(ranges, instant, start.zone)
        if known is None:
            known = occurrence(instant, at, local, length, master) | {"zone": start.zone_name}
        found.append(known)
    return found


def read_object(data, zone, window):
    """The occurrences of an object that are to be known."""
    events = read_events(data)
    changes = [event for event in events if one(event, "RECURRENCE-ID")]
    (master,) = (event for event in events if event not in changes)
    if not changes and not {"RRULE", "RDATE", "EXDATE"} & {line.name for line in master}:
        start = moment(one(master, "DTSTART"), zone)
        single = occurrence(None, start, start.local, Length(master, start, zone), master)
        return [single | {"recurring": False}]
    known = [
        found | {"recurring": True}
        for found in expand(master, changes, zone, window[1])
        if found["start"] < window[1]
        and (found["end"] > window[0] or found["start"] == found["end"] >= window[0])
    ]
    if known:
        return known
    # a stand-in says that there is such an object
    return [
        {
            "occurrence": None, "start": None, "end": None, "busy": False, "all_day": False,
            "recurring": True, "status": "unknown", "transparency": "opaque", "sequence": 0,
            "uid": None, "zone": None, "organizer": None, "attendees": None,
        }
    ]


def etag_of(kind, data):
    if kind == "radicale":
        return f'"{hashlib.sha256(data).hexdigest()}"'
    return f'"{hashlib.sha1(b"blob %d" % len(data) + bytes(1) + data).hexdigest()}"'


def word(value):
    if isinstance(value, datetime.datetime):
        return str(int(value.timestamp()))
    if isinstance(value, bool):
        return "t" if value else "f"
    return str(value) if value else "0" if value == 0 else ""


def main():
    kind, folder, path, zone = sys.argv[1:5]
    zone = zoneinfo.ZoneInfo(zone)
    window = [datetime.datetime.fromtimestamp(float(at), UTC) for at in sys.argv[5:7]]
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".ics"):
            continue
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        try:
            known = read_object(data, zone, window)
        except Exception as error:
            raise SystemExit(f"{name}: {error!r}\n{data.decode()}") from error
        for found in known:
            fields = (
                path + name,
                found["occurrence"] or NO_OCCURRENCE,
                *(found[key] for key in ("start", "end", "busy", "all_day", "recurring")),
                *(found[key] for key in ("status", "transparency", "sequence", "uid", "zone")),
                *(found[key] for key in ("organizer", "attendees")),
                etag_of(kind, data),
            )
            print("\t".join(word(field) for field in fields))


if __name__ == "__main__":
    main()
