package console

import (
	"context"
	"fmt"
	"net/url"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// addFreezes adds the frozen aggregates: their list, one of them, and its release.
func addFreezes(s *server) {
	s.screen("/freezes", "freezes.html", loadFreezes)
	one := s.screen("/freezes/{aggregateId}", "freeze.html", loadFreeze)
	s.action("/freezes/{aggregateId}/release", one, releaseFreeze)
}

// freezesShown is how many freezes a page lists: each costs a count of every
// outbox.
const freezesShown = 10

// freezesContent is the list.
type freezesContent struct {
	Items []freezeView
	First string // address of the first page; "" on it
	Next  string // address of the next page; ""
}

func loadFreezes(ctx context.Context, v *visit) (*page, error) {
	query := url.Values{"held": {"true"}, "limit": {fmt.Sprint(freezesShown)}}
	content := freezesContent{}
	if token := v.URL.Query().Get("pageToken"); token != "" {
		query.Set("pageToken", token)
		content.First = Prefix + "/freezes"
	}
	list, err := get[admin.FreezeList](ctx, v.ask, "/freezes", query)
	if err != nil {
		return nil, err
	}
	for _, f := range list.Items {
		content.Items = append(content.Items, frozenAs(f))
	}
	if list.NextPageToken != "" {
		content.Next = address("/freezes", url.Values{"pageToken": {list.NextPageToken}})
	}
	return &page{Title: "Freezes", Section: "freezes", Follows: []string{topicFreezes}, Content: content}, nil
}

// freezeView is a freeze as pages show it.
type freezeView struct {
	admin.Freeze
	Path    string
	Letters []string // the first few that froze it
	More    int      // of these that are not shown
}

// lettersShown is how many dead letters of a freeze are named.
const lettersShown = 5

func frozenAs(f admin.Freeze) freezeView {
	shown := min(len(f.DeadLetters), lettersShown)
	return freezeView{Freeze: f, Path: pathTo("freezes", dlq.FreezeName(f.AggregateID)), Letters: f.DeadLetters[:shown], More: len(f.DeadLetters) - shown}
}

// Releasing reports whether its release is under way.
func (f freezeView) Releasing() bool { return f.State == dlq.Releasing }

// HeldWords is how many records it holds, in words.
func (f freezeView) HeldWords() string {
	if f.Held == nil {
		return "not known"
	}
	if f.Held.Records == 0 {
		return "no record"
	}
	text := plural(f.Held.Records, "record", "records")
	if f.Held.AtLeast {
		text = "at least " + text
	}
	return text
}
