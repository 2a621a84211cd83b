package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// Notice is how long a version stays after its deprecatedOn.
const Notice = 30 * 24 * time.Hour

// Compare tells what differs from the old catalog to the new one, the gravest
// first. on is the day of the change, by which a removal is judged. Where nothing
// differs it returns none.
func Compare(was, is *contracts.Catalog, on time.Time) []Change {
	d := &differ{was: was, is: is, on: on}
	d.targets()
	for _, o := range was.Outboxes {
		if now := is.Outbox(o.Name); now != nil {
			d.outbox(o, now)
		} else {
			d.outboxGone(o)
		}
	}
	for _, o := range is.Outboxes {
		if was.Outbox(o.Name) == nil {
			d.add(Additive, "outbox "+o.Name, "", "is new", "the relay listens to it", "add the indexes that `outbox-relay catalog indexes` prints before the relay starts with it")
		}
	}
	d.policies()
	d.templates()
	return sorted(d.changes)
}

type differ struct {
	was, is *contracts.Catalog
	on      time.Time
	changes []Change
}

func (d *differ) add(kind Kind, where, field, change, consequence, remedy string) {
	d.changes = append(d.changes, Change{kind, where, field, change, consequence, remedy})
}

// differs notes a change of one value, if it is one.
func differs[T comparable](d *differ, kind Kind, where, field string, was, is T, consequence, remedy string) {
	if was != is {
		d.add(kind, where, field, fmt.Sprintf("is %v, was %v", is, was), consequence, remedy)
	}
}

func (d *differ) targets() {
	for _, name := range slices.Sorted(maps.Keys(d.was.Targets)) {
		was, where := d.was.Targets[name], "target "+name
		is, ok := d.is.Targets[name]
		switch {
		case !ok:
			d.add(Heed, where, "", "is gone", "dead letters that are pending for it cannot be replayed to it any more", "replay or discard them first: `outbox-relay dlq list` shows what each is pending for")
		case was.Kind != is.Kind:
			d.add(Breaking, where, "kind", fmt.Sprintf("is %s, was %s", is.Kind, was.Kind), "who got its events there gets none any more", "add a target of another name beside it, and remove this one once nobody needs it")
		case was.Topic != is.Topic:
			d.add(Breaking, where, "topic", fmt.Sprintf("is %s, was %s", is.Topic, was.Topic), "subscriptions to "+was.Topic+" get nothing any more", "add a target for the new topic beside it, and remove this one once its subscribers have moved")
		default:
			differs(d, Heed, where, "ratePerSecond", was.RatePerSecond, is.RatePerSecond, "its handler's calls are bounded by that", "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.is.Targets)) {
		if _, ok := d.was.Targets[name]; !ok {
			d.add(Additive, "target "+name, "", "is new", "events that name it are delivered there as well", "create its topic before the relay starts with it: `outbox-relay catalog topics`")
		}
	}
}

// outboxGone tells of an outbox that is declared no more.
func (d *differ) outboxGone(o *contracts.Outbox) {
	d.add(Heed, "outbox "+o.Name, "", "is gone", "the relay listens to it no more: what is undelivered in it stays so, and no alert tells of it; its dead letters are replayed by nobody",
		"let it run empty first, and replay or discard its dead letters")
	for _, e := range o.Events {
		d.removed(o, e, "records of it, those that wait and those that are still appended, stay pending, unread and without an alert, and its consumers get none")
	}
}

func (d *differ) outbox(was, is *contracts.Outbox) {
	where := "outbox " + was.Name
	differs(d, Heed, where, "slice", was.Slice, is.Slice, "it is the producer of records that name none", "")
	differs(d, Heed, where, "onDelivered", was.OnDelivered, is.OnDelivered, "what is delivered from now on is kept, or removed, accordingly", "")
	differs(d, Heed, where, "retention", was.Retention, is.Retention, "what is delivered from now on is kept for that long", "")
	differs(d, Heed, where, "shards", was.Shards, is.Shards, "producers and relay have to change one after the other: records with a shard that the relay does not know are dead-lettered, and aggregates that move lose their order",
		"follow the order that contracts/README.md gives, with no two relays of different numbers at a time")
	for _, lane := range was.Lanes() {
		if !slices.Contains(is.Lanes(), lane) {
			d.add(Heed, where, "", "has no event of "+string(lane)+" any more",
				"records that stand in that lane, and those of producers that write it still, are read there once one of them shows, and go along the lane of their event",
				"move the producers after the relay, as docs/OPERATIONS.md says")
		}
	}
	for _, e := range was.Events {
		now := counterpart(is, e)
		if now == nil {
			d.removed(was, e, "records of it that are still appended, and those that wait undelivered, are contract violations, and its consumers get none")
			continue
		}
		if now.Type != e.Type {
			d.add(Heed, at(was.Name, e), "", "has no entry of its own any more", "it goes along "+now.Type, "")
		}
		d.event(at(was.Name, e), e, now)
	}
	for _, e := range is.Events {
		old := was.RouteOf(e.Type, e.Version)
		switch {
		case old != nil && old.Type == e.Type:
		case len(versions(was, e.Type)) > 0:
			d.add(Additive, at(was.Name, e), "", "is a new version", "producers publish it beside the older ones until every consumer has moved", "give the older ones a deprecatedOn")
		case old != nil: // a pattern took it
			d.add(Heed, at(was.Name, e), "", "has an entry of its own", "it goes along "+old.Type+" no more", "")
			d.event(at(was.Name, e), old, e)
		default:
			d.add(Additive, at(was.Name, e), "", "is new", "records of it were contract violations before, and are delivered now", "add the indexes that `outbox-relay catalog indexes` prints where its lane is new to the outbox")
		}
	}
}

// counterpart is how what e stands for travels now; nil: not at all.
func counterpart(is *contracts.Outbox, e *contracts.EventRoute) *contracts.EventRoute {
	if e.Version != 0 {
		return is.RouteOf(e.Type, e.Version)
	}
	return is.Route(e.Type)
}

// versions are those that o declares of the very type.
func versions(o *contracts.Outbox, eventType string) []*contracts.EventRoute {
	return slices.DeleteFunc(slices.Clone(o.Events), func(e *contracts.EventRoute) bool { return e.Type != eventType })
}

// removed judges an event's version that is gone by its deprecatedOn.
func (d *differ) removed(o *contracts.Outbox, e *contracts.EventRoute, consequence string) {
	until := e.DeprecatedOn.Add(Notice)
	switch {
	case e.DeprecatedOn.IsZero():
		d.add(Breaking, at(o.Name, e), "", "is gone, and was not deprecated", consequence, "keep it with deprecatedOn: "+d.on.Format(time.DateOnly)+", and remove it 30 days later")
	case d.on.Before(until):
		early := "before"
		if !d.on.Before(e.DeprecatedOn) {
			early = fmt.Sprintf("%d days after", int(d.on.Sub(e.DeprecatedOn).Hours()/24))
		}
		d.add(Breaking, at(o.Name, e), "deprecatedOn", "is gone "+early+" "+e.DeprecatedOn.Format(time.DateOnly), consequence,
			"keep it until "+until.Format(time.DateOnly))
	default:
		d.add(Heed, at(o.Name, e), "", "is gone after its notice", consequence, "see that nothing of it is undelivered or in the dead-letter queue")
	}
}

// at names an event's version in an outbox.
func at(outbox string, e *contracts.EventRoute) string {
	if e.Version == 0 {
		return outbox + " " + e.Type
	}
	return fmt.Sprintf("%s %s v%d", outbox, e.Type, e.Version)
}

func (d *differ) policies() {
	for _, lane := range contracts.Lanes() {
		was, is, where := d.was.Lanes[lane], d.is.Lanes[lane], "lane "+string(lane)
		differs(d, Heed, where, "sla", was.SLA, is.SLA, "alerts and the console judge the lane's lag by it", "")
		was.SLA, is.SLA = 0, 0
		if was != is {
			d.add(Heed, where, "", "has other bounds", "throughput, memory and cost of the relay change with them", "see `outbox-relay catalog print` and docs/SIZING.md")
		}
	}
	retry := func(r contracts.RetryPolicy) string {
		return fmt.Sprintf("%d attempts, %v to %v times %v", r.MaxAttempts, r.Initial, r.Max, r.Multiplier)
	}
	differs(d, Heed, "retry", "", retry(d.was.Retry), retry(d.is.Retry), "failing records are dead-lettered sooner or later than before", "")
	differs(d, Heed, "replay", "delays", durations(d.was.Replay.Delays), durations(d.is.Replay.Delays), "SAFE_AUTO dead letters are replayed by these times", "")
	differs(d, Heed, "replay", "ratePerSecond", d.was.Replay.RatePerSecond, d.is.Replay.RatePerSecond, "SAFE_AUTO dead letters are replayed at that rate", "")
}

// templates tells of the texts of jobs' messages. A catalog without any leaves texts to who shows a message.
func (d *differ) templates() {
	ends := "jobs that name it, waiting or to come, are dead at once"
	switch {
	case len(d.is.Templates) == 0:
		ends = "as no template is left, jobs are sent without a text, and those for email are dead at once"
	case len(d.was.Templates) == 0:
		d.add(Heed, "templates", "", "are the first", "jobs that name any other are dead at once, where they were sent without a text", "have one for each that producers name")
	}
	for _, id := range slices.Sorted(maps.Keys(d.was.Templates)) {
		where := "template " + id
		is, ok := d.is.Templates[id]
		if !ok {
			d.add(Breaking, where, "", "is gone", ends, "keep it until no producer names it and no job with it is pending")
			continue
		}
		for _, part := range []struct{ name, was, is string }{{"title", d.was.Templates[id].Title, is.Title}, {"body", d.was.Templates[id].Body, is.Body}} {
			if part.was != part.is {
				d.add(Heed, where, part.name, "has another text", "messages that are sent from now on have it, those of waiting jobs too", "see that the payloads of their events have every field that it names")
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.is.Templates)) {
		if _, ok := d.was.Templates[id]; !ok {
			d.add(Additive, "template "+id, "", "is new", "jobs may name it", "deploy it before a producer names it")
		}
	}
}

func durations(list []time.Duration) string {
	parts := make([]string, len(list))
	for i, item := range list {
		parts[i] = item.String()
	}
	return strings.Join(parts, " ")
}
