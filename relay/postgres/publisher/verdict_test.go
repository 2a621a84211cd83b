package publisher

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"outboxrelay/contracts"
	"outboxrelay/ier"
)

var (
	acked   = ier.Outcome{Acked: []string{DefaultTopic}}
	blocked = ier.Outcome{Blocked: []string{DefaultTopic}}
	behind  = ier.Outcome{Behind: []string{DefaultTopic}}
)

func failed(kind contracts.Kind, message string) ier.Outcome {
	return ier.Outcome{Failed: []ier.TargetFailure{{Target: DefaultTopic, Kind: kind, Code: "Code", Message: message}}}
}

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name                        string
		outcomes                    []ier.Outcome
		out                         bool
		published, refused, outages int
	}{
		{name: "acknowledged", outcomes: []ier.Outcome{acked, acked}, published: 2},
		{name: "refused for good", outcomes: []ier.Outcome{acked, failed(contracts.Permanent, ""), behind}, published: 1, refused: 1},
		{name: "refused for good while others fail", outcomes: []ier.Outcome{failed(contracts.Permanent, "")}, out: true, refused: 1},
		{name: "failed for itself", outcomes: []ier.Outcome{failed(contracts.Attributable, ""), behind}, refused: 1},
		{name: "failed as all do", outcomes: []ier.Outcome{failed(contracts.Attributable, ""), behind}, out: true, outages: 1},
		{name: "an outage", outcomes: []ier.Outcome{acked, failed(contracts.Outage, ""), behind}, published: 1, outages: 1},
		{name: "a breaker that is open", outcomes: []ier.Outcome{blocked, blocked}, outages: 1},
		{name: "a target that breaks the order", outcomes: []ier.Outcome{failed(contracts.Permanent, ""), acked}, refused: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			rows := make(run, len(test.outcomes))
			for i := range rows {
				rows[i] = &row{}
			}
			v := &verdict{}
			v.judge(rows, test.outcomes, func(time.Time) bool { return test.out })
			if len(v.published) != test.published || len(v.refused) != test.refused || v.outages != test.outages {
				t.Errorf("published %d, refused %d, outages %d; want %d, %d, %d",
					len(v.published), len(v.refused), v.outages, test.published, test.refused, test.outages)
			}
		})
	}
}

func TestLastErrorIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("é", 400), strings.Repeat("x", 499) + "€", "a\x00b", "\xff\xfe", strings.Repeat("\xff", 400)} {
		v := &verdict{}
		v.judge(run{{}}, []ier.Outcome{failed(contracts.Permanent, text)}, nil)
		_, reasons, _ := v.marks()
		got := *reasons[0]
		if len(got) > maxErrorBytes || !utf8.ValidString(got) || strings.Contains(got, "\x00") || !strings.HasPrefix(got, "Code: ") {
			t.Errorf("last_error of %q is %q", text, got)
		}
	}
}
