package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq/admin"
)

// trouble is one thing that is not as it should be, and what to do about it.
type trouble struct {
	About    string // what it is of, in words that no other has; see ID
	Bad      bool   // it cannot wait; else somebody should know of it
	What     string
	When     string    // what happened at Since
	Since    time.Time // zero: not known
	Do       string
	Path     string // below Prefix, where that is done; "": not in the console
	LinkText string
}

// ID is that of its element: by it a page that is fetched again finds the trouble anew,
// with the focus that it has, wherever it stands now.
func (t trouble) ID() string { return "trouble-" + strings.ReplaceAll(t.About, " ", "-") }

// troublesOf finds all of them, those that cannot wait first.
func troublesOf(f *facts, all []sample) []trouble {
	out := slices.Concat(instanceTroubles(f), deadTroubles(f.summary), workTroubles(f), targetTroubles(f.targets), laneTroubles(f.lanes), unsettledTroubles(f.lanes, time.Now()), outboxTroubles(f.outboxes), backlogTroubles(f.outboxes, all))
	worstFirst(out)
	return out
}

// worstFirst puts those that cannot wait before the others.
func worstFirst(out []trouble) {
	slices.SortStableFunc(out, func(a, b trouble) int {
		switch {
		case a.Bad == b.Bad:
			return 0
		case a.Bad:
			return -1
		}
		return 1
	})
}

// instanceTroubles are those of the instance that answers.
func instanceTroubles(f *facts) []trouble {
	var out []trouble
	warned := ""
	switch {
	case f.summary == nil:
		warned = "Firestore does not answer. Dead letters, freezes and who paused what are not known; what stands below is what this instance remembers."
	case f.summary.Warning != "":
		warned = "Firestore does not answer. Dead letters and freezes are those that were counted last; the rest is what this instance remembers."
	case f.lanes.Warning != "":
		warned = "Firestore does not answer. Who paused what is not known; what stands below is what this instance remembers."
	}
	if warned != "" {
		out = append(out, trouble{
			About: "Firestore", Bad: true, What: warned,
			Do: "see whether Google Cloud tells of an outage, and whether the service account may still read (outbox-relay doctor). Records wait meanwhile, and nothing is lost",
		})
	}
	if f.lanes.Stopping {
		out = append(out, trouble{
			About: "stopping",
			What:  fmt.Sprintf("The instance that answers, %s, is stopping: it finishes what is in delivery and gives its outboxes back.", orThis(f.lanes.Instance)),
			Do:    "nothing, if a new revision is being rolled out: this page goes on with the next instance",
		})
	}
	return out
}

func orThis(instance string) string {
	if instance == "" {
		return "this one"
	}
	return instance
}

// deadTroubles are the dead letters that wait for a person, and what is frozen.
func deadTroubles(s *admin.Summary) []trouble {
	if s == nil {
		return nil
	}
	var out []trouble
	for _, t := range s.Tiers {
		for _, state := range t.States {
			if state.Open > 0 {
				out = append(out, waiting(t.Tier, state)...)
			}
		}
	}
	slices.Reverse(out) // the strictest first
	if s.Freezes > 0 {
		t := trouble{
			About: "frozen",
			What:  "1 aggregate is frozen: later records of it are held, from whatever outbox.",
			Do:    "decide about the dead letters that froze it, then release it; that needs the role security", Path: "/freezes", LinkText: "Freezes",
		}
		if s.Freezes > 1 {
			t.What = thousands(s.Freezes) + " aggregates are frozen: later records of theirs are held, from whatever outbox."
			t.Do = "decide about the dead letters that froze them, then release each; that needs the role security"
		}
		out = append(out, t)
	}
	return out
}

// waiting tells of the dead letters of one state, if they wait for a person.
func waiting(tier contracts.Tier, s admin.StateSummary) []trouble {
	t := trouble{About: string(tier) + " " + string(s.State), When: "The oldest died", Since: s.Oldest, Path: "/dlq?" + url.Values{"tier": {string(tier)}, "state": {string(s.State)}}.Encode(), LinkText: "Show them"}
	letters := func(one, many string) string {
		return howMany(s.Open, string(tier)+" dead letter "+one, string(tier)+" dead letters "+many)
	}
	switch s.State {
	case contracts.DeadBlocked:
		t.Bad, t.What = true, letters("waits for an authorization.", "wait for an authorization.")
		t.Do = "someone with the role security looks at each, and authorizes its replay or discards it"
	case contracts.DeadAuthorized:
		t.What = letters("is authorized and waits to be replayed.", "are authorized and wait to be replayed.")
		t.Do = "replay them; where two persons are asked for, by another than who authorized"
	case contracts.DeadAwaitingReview:
		t.What, t.Do = letters("waits for a review.", "wait for a review."), "an operator replays or discards each; many with the same error together, by a bulk replay"
	default:
		return nil
	}
	return []trouble{t}
}

// targetTroubles are the targets that do not answer. One that nothing waits for can
// wait: no record is late by it, and the alert does not tell of it either.
func targetTroubles(list *admin.TargetList) []trouble {
	var out []trouble
	for _, t := range list.Items {
		if t.State == "closed" {
			continue
		}
		one := trouble{About: "target " + t.Target, When: "It stopped", Since: t.Since, Path: "/#targets", LinkText: "Targets"}
		n := len(t.Waiting)
		if n == 0 {
			one.What = fmt.Sprintf("Target %s did not answer when it was tried last (%s). Nothing waits for it here; %s would.", t.Target, orUnknown(t.Reason), words(t.Outboxes))
			one.Do = fmt.Sprintf("nothing, if that is mended: it stays so here until there is a record to probe it with. Else mend %s", whereOf(t))
			out = append(out, one)
			continue
		}
		parts := make([]string, n)
		for i, w := range t.Waiting {
			parts[i] = fmt.Sprintf("%s of %s", thousands(w.Records), w.Outbox)
		}
		one.Bad = true
		one.What = fmt.Sprintf("Target %s does not answer (%s). Records wait for it: %s.", t.Target, orUnknown(t.Reason), words(parts))
		one.Do = fmt.Sprintf("mend %s. No attempt is counted meanwhile, and it goes on by itself: a probe is sent every two seconds", whereOf(t))
		out = append(out, one)
	}
	return out
}

func orUnknown(reason string) string {
	if reason == "" {
		return "no reason is known"
	}
	return reason
}

func whereOf(t admin.Target) string {
	if t.Topic != "" {
		return "topic " + t.Topic
	}
	return "what its handler calls"
}

// laneTroubles are the lanes that are paused or late.
func laneTroubles(list *admin.LaneList) []trouble {
	var out []trouble
	for _, l := range list.Items {
		waits := howMany(l.Queued+l.Waiting, "record waits", "records wait")
		if l.Queued+l.Waiting == 0 {
			waits = "Nothing waits"
		}
		path := "/lanes#" + string(l.Lane)
		switch {
		case l.Paused || l.PausedHere:
			out = append(out, trouble{
				About: "lane " + string(l.Lane),
				What:  pausedText(l) + " " + waits + " here.", When: "That was", Since: l.PausedAt, Do: "resume it when that is over", Path: path, LinkText: "Lanes",
			})
			continue
		case l.P99Millis > l.SLAMillis:
			out = append(out, trouble{
				About: "lane " + string(l.Lane), Bad: true, Path: path, LinkText: "Lanes",
				What: fmt.Sprintf("%s misses its SLA: in the last minute one in a hundred took longer than %s, and %s is what it may take. %s here.",
					l.Lane, lagText(l.P99Millis), lagText(l.SLAMillis), waits),
				Do: "nothing, if a target has just come back: what had waited for it is late. Else see whether one is slow, or more comes in than goes out; more instances share the outboxes",
			})
		case l.Overdue > 0:
			out = append(out, trouble{
				About: "lane " + string(l.Lane), Path: path, LinkText: "Lanes", When: "The oldest was appended", Since: l.Oldest,
				What: fmt.Sprintf("%s is late with %s: appended longer ago than its SLA, %s. %s for a retry.",
					l.Lane, howMany(l.Overdue, "record", "records"), lagText(l.SLAMillis), howMany(l.Waiting, "waits", "wait")),
				Do: "nothing, if they wait for a retry: they are delivered, or dead letters after three attempts, of which none counts while their target is out. Else see whether a target is slow",
			})
		}
	}
	return out
}

func pausedText(l admin.Lane) string {
	text := string(l.Lane) + " is paused"
	if l.PausedBy != "" {
		text += " by " + l.PausedBy
	}
	switch {
	case given(l.PauseReason) != "":
		text += ": " + l.PauseReason
	case l.PauseReason != "" && l.PausedBy != "":
		text += ", who gave no reason"
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	switch {
	case !l.PausedHere:
		text += " This instance has not heard of it yet."
	case !l.Paused:
		text += " It was resumed, and this instance has not heard of it yet."
	}
	return text
}

// outboxTroubles are the outboxes that nobody relays, or that are not listened to.
func outboxTroubles(list *admin.OutboxList) []trouble {
	var out []trouble
	leased := false
	for _, o := range list.Items {
		leased = leased || o.Lease != ""
		name := shardName(o)
		t := trouble{About: fmt.Sprintf("outbox %s.%d", o.Outbox, o.Shard), Bad: true, Path: "/#outboxes", LinkText: "Outboxes"}
		switch {
		case o.Lease == "free":
			t.What, t.Do = "Nobody relays "+name+".", "nothing, if an instance has just ended: another takes it within seconds. Else see whether an instance runs"
		case o.Lease == "expired":
			t.What = fmt.Sprintf("%s does not renew its lease of %s.", orNobody(o.Owner), name)
			t.Do = "nothing for half a minute: another instance takes it. Else see whether another runs"
		case o.Lease == "lapsed":
			t.What = fmt.Sprintf("The lease of %s was not renewed in time: its deliveries wait.", name)
			t.Do = "nothing for half a minute: it is renewed or lost by then. Else Firestore is slow, or takes no writes: the log line \"renew leases, trying again\" says why"
		case !o.Here && !o.Ready:
			t.What, t.Do = fmt.Sprintf("%s is not well, says its owner %s.", name, orNobody(o.Owner)), "see that instance's log, or its /readyz"
		default:
			out = append(out, listenerTroubles(o)...)
			continue
		}
		out = append(out, t)
	}
	if leased && list.QueueOwner == "" {
		out = append(out, trouble{
			About: "leader", Bad: true, What: "Nobody does for the dead-letter queue what only one instance may: alerts, releases and bulk replays wait.",
			Do: "nothing, if an instance has just ended: another takes over within seconds. Else see whether an instance runs",
		})
	}
	return out
}

func listenerTroubles(o admin.OutboxStatus) []trouble {
	var out []trouble
	for _, l := range o.Listeners {
		if l.State == "alive" || l.State == "paging" {
			continue
		}
		t := trouble{About: fmt.Sprintf("listener %s.%d %s", o.Outbox, o.Shard, l.Listener), Bad: true, When: "It was proven alive", Since: l.ProvenAt, Path: "/#outboxes", LinkText: "Outboxes"}
		t.What = fmt.Sprintf("Listener %s of %s is %s.", l.Listener, shardName(o), l.State)
		t.Do = "nothing for a minute: it is rebuilt, and a sweep finds what it missed. Else see whether Firestore answers, and whether an index is missing (outbox-relay doctor)"
		if l.State == "starting" {
			t.Bad = false
		}
		if l.LastReason != "" {
			t.What += " It ended for " + l.LastReason + "."
		}
		out = append(out, t)
	}
	return out
}

// backlogTroubles are the outboxes to which more is appended than is delivered.
func backlogTroubles(list *admin.OutboxList, all []sample) []trouble {
	var out []trouble
	seen := make(map[string]bool)
	for _, o := range list.Items {
		if seen[o.Outbox] {
			continue
		}
		seen[o.Outbox] = true
		if from, to, grows := growth(all, o.Outbox); grows {
			out = append(out, trouble{
				About: "backlog " + o.Outbox,
				What:  fmt.Sprintf("The backlog of %s grows: %s records are pending, %s were %s ago.", o.Outbox, thousands(to), thousands(from), lasting(growsOver)),
				Do:    "see whether a lane is paused or a target is out; if neither, more instances or shards are needed (outbox-relay cost)", Path: "/#outboxes", LinkText: "Outboxes",
			})
		}
	}
	return out
}

func orNobody(owner string) string {
	if owner == "" {
		return "Nobody"
	}
	return owner
}
