package diff

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
)

// asNewVersion is the remedy of what one version cannot bear.
const asNewVersion = "leave this version as it is, and declare the change as a new version beside it"

// event tells what differs in how one version of an event travels.
func (d *differ) event(where string, was, is *contracts.EventRoute) {
	if was.Version == 0 && is.Version != 0 {
		kind := Breaking
		if was.Type != is.Type { // of what went along a pattern, few have other versions
			kind = Heed
		}
		d.add(kind, where, "version", "is one, was any", "records of every other version are contract violations", "leave version: any, or declare each version that producers use")
	}
	if was.Lane != is.Lane {
		d.add(Heed, where, "lane", "is "+string(is.Lane)+", was "+string(was.Lane),
			"records may overtake those of their aggregate that wait in the old lane; the new lane's SLA holds, and producers that write the old lane are counted as disagreeing",
			"let the outbox run empty between the two, if order matters; add the indexes that `outbox-relay catalog indexes` prints where the lane is new to it")
	}
	if was.Tier != is.Tier {
		d.add(Heed, where, "tier", "is "+string(is.Tier)+", was "+string(was.Tier), tierWords[is.Tier], "")
	}
	differs(d, Heed, where, "twoPersonRule", was.TwoPersonRule, is.TwoPersonRule, "who authorized a dead letter may replay it only where it is false", "")
	differs(d, Heed, where, "revokeTokens", was.RevokeTokens, is.RevokeTokens, "sessions end when a right is taken away only where it is true", "")
	d.ways(where, was.Targets, is.Targets)
	d.names(where, "consumers", was.Consumers, is.Consumers,
		Heed, "it acknowledges this version without acting on it", "see that it acts on another version, if it is to go on",
		"it acts on this version from now on")
	d.deprecation(where, was, is)

	differs(d, Breaking, where, "idempotencyKey", cmp.Or(was.Key, contracts.DefaultKey), cmp.Or(is.Key, contracts.DefaultKey),
		"records under the old key, those that wait included, are contract violations, and a repeat with the new key is taken for another event", asNewVersion)
	if was.Aggregate != is.Aggregate {
		d.aggregate(where, was.Aggregate, is.Aggregate)
	}
	switch {
	case was.Schema == nil && is.Schema != nil:
		d.add(Breaking, where, "schema", "is new", "payloads that nobody checked so far are contract violations where it refuses them", asNewVersion)
	case was.Schema != nil && is.Schema == nil:
		d.add(Breaking, where, "schema", "is gone", "consumers meet payloads that it refused, and nothing is checked before it is delivered", "keep it")
	case was.Schema != nil:
		compareSchemas(was.Schema, is.Schema, func(kind Kind, field, change, consequence string) {
			remedy := ""
			if kind == Breaking {
				remedy = asNewVersion
			}
			d.add(kind, where, field, change, consequence, remedy)
		})
	}
}

var tierWords = map[contracts.Tier]string{
	contracts.SafeAuto:       "its dead letters are replayed by themselves, without anybody looking at them",
	contracts.ReviewRequired: "its dead letters wait for an operator, and nothing replays them by itself",
	contracts.SecurityBlock:  "a dead letter of it freezes its aggregate until someone with the security role has authorized it",
}

// ways tells which targets an event loses and gains. A new one on the topic of one
// that goes takes the other's place.
func (d *differ) ways(where string, was, is []string) {
	lost, gained := without(was, is), without(is, was)
	for _, name := range slices.Clone(gained) {
		topic := d.is.Targets[name].Topic
		at := slices.IndexFunc(lost, func(old string) bool { return topic != "" && d.was.Targets[old].Topic == topic })
		if at < 0 {
			continue
		}
		d.add(Heed, where, "targets", name+" is new, in place of "+lost[at]+" on the same topic",
			"records that "+lost[at]+" has and another target lacks go to "+topic+" once more, and the attribute target of all is another from now on",
			"let the outbox run empty between the two, or see that who reads "+topic+" bears repeats; move subscriptions that filter by the attribute")
		lost, gained = without(lost, []string{lost[at]}), without(gained, []string{name})
	}
	d.names(where, "targets", lost, gained,
		Breaking, "who gets it by way of that target gets none any more, nor what waits for it, as while it is out", "leave the target until nobody reads it there, and nothing waits for it (relay_target_waiting_records)",
		"what is undelivered and what comes goes there as well; what was delivered or is dead before does not")
}

// without is the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// names tells which of a list's names are gone, and which are new.
func (d *differ) names(where, field string, was, is []string, lost Kind, consequence, remedy, gained string) {
	for _, name := range was {
		if !slices.Contains(is, name) {
			d.add(lost, where, field, name+" is gone", consequence, remedy)
		}
	}
	for _, name := range is {
		if !slices.Contains(was, name) {
			d.add(Additive, where, field, name+" is new", gained, "")
		}
	}
}

func (d *differ) aggregate(where string, was, is contracts.KeyTemplate) {
	words := func(t contracts.KeyTemplate) string { return cmp.Or(string(t), "the producer's to choose") }
	change := "is " + words(is) + ", was " + words(was)
	if is == "" {
		d.add(Heed, where, "aggregateId", change, "records of one aggregate could get several IDs, and lose their order", "")
		return
	}
	d.add(Breaking, where, "aggregateId", change, "records with the old aggregate, those that wait included, are contract violations, and the order of an aggregate starts anew", asNewVersion)
}

func (d *differ) deprecation(where string, was, is *contracts.EventRoute) {
	switch {
	case was.DeprecatedOn.Equal(is.DeprecatedOn):
	case is.DeprecatedOn.IsZero():
		d.add(Additive, where, "deprecatedOn", "is gone", "this version stays", "")
	default:
		change := "is " + is.DeprecatedOn.Format(time.DateOnly)
		if !was.DeprecatedOn.IsZero() {
			change += ", was " + was.DeprecatedOn.Format(time.DateOnly)
		}
		consequence := "this version may be removed from " + is.DeprecatedOn.Add(Notice).Format(time.DateOnly) + " on"
		if len(is.Consumers) > 0 {
			consequence += ", and these have to move before: " + strings.Join(is.Consumers, ", ")
		}
		d.add(Heed, where, "deprecatedOn", change, consequence, "")
	}
}
