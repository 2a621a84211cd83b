package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"outboxrelay/dlq"
	"outboxrelay/dlq/admin"
)

// detail is a dead letter as the API answers it. Its record stays as it came:
// its numbers may be larger than a float holds.
type detail struct {
	admin.DeadLetterDetail

	Record json.RawMessage `json:"record"`
}

// uncovered is the API's answer to a look at a covered payload.
type uncovered struct {
	admin.Uncovered

	Record json.RawMessage `json:"record"`
}

// recordView is a record as it is shown.
type recordView struct {
	Text    string
	Cut     int  // bytes that are left out at its end
	Copy    bool // it is short enough for a button that copies it
	Trimmed bool // the copy has no payload

	Covered     string // why not all of it is there; "": it is
	Uncover     act
	UncoveredAt time.Time // zero: it is as everybody sees it
}

const (
	// maxRecord bounds what is shown of a record, which may have a megabyte.
	maxRecord = 64 << 10
	// maxCopied bounds what a button copies: the page holds it twice.
	maxCopied = 16 << 10
)

// recordOf renders a dead letter's record.
func recordOf(d *detail) recordView {
	r := recordText(d.Record)
	r.Trimmed, r.Covered = d.RecordTrimmed, d.PayloadWithheld
	return r
}

func recordText(raw json.RawMessage) recordView {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return recordView{Text: string(raw)}
	}
	text := b.String()
	r := recordView{Text: text, Copy: len(text) <= maxCopied}
	if len(text) > maxRecord {
		end := maxRecord
		for !utf8.RuneStart(text[end]) {
			end--
		}
		r.Text, r.Cut = text[:end], len(text)-end
	}
	return r
}

// uncovers adds the form that shows a whole record in its answer, and nowhere
// else: nothing of it is in an address, and the page is covered when it is loaded
// again.
func (s *server) uncovers(on *screen) {
	s.posted("/dlq/{id}/uncover", on, func(w http.ResponseWriter, v *visit) error {
		u, err := post[uncovered](v.Context(), v.ask, letterPath(v, "uncover"), admin.Why{Reason: v.reason()}, nil)
		if err != nil {
			return err
		}
		p, err := on.load(v.Context(), v)
		if err != nil {
			return err
		}
		content := p.Content.(*itemPage) // as loadItem makes it
		content.Record = recordText(u.Record)
		content.Record.Trimmed, content.Record.UncoveredAt = u.RecordTrimmed, u.Decision.At
		p.Notice = &notice{Text: "You see its payload now, here alone. The audit says so, with your reason."}
		return s.write(w, http.StatusOK, v, on.template, p)
	})
}

// coveredAct is the act that uncovers; for those whose role may not, it says so.
func (p *itemPage) coveredAct(v *visit) act {
	a := act{
		Name: "uncover", Label: "Uncover the payload", Post: p.Path + "/uncover", NeedsReason: true, Allowed: v.who.May(dlq.Security),
		Will: []string{
			"You see the whole record, in this tab alone, until you cover it or load the page again.",
			"The audit says that you looked, when, and why, before you see anything.",
		},
		Command: decisionCommand("show", p.ID, "--uncover"),
	}
	if !a.Allowed {
		a.Why = "it needs the role security, and you have " + v.who.Role.String()
		a.Hint = "ask someone with the role security"
	}
	return a.retyped(v)
}
