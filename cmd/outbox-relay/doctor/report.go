package doctor

import "fmt"

// Result is how one look ended.
type Result string

const (
	// OK: it is as the service needs it.
	OK Result = "ok"
	// Warn: the service works, and something about it will surprise somebody.
	Warn Result = "warn"
	// Fail: the service lacks it.
	Fail Result = "fail"
	// Skip: it was not judged, and the detail says why.
	Skip Result = "skip"
)

// Finding is what one look found.
type Finding struct {
	Check   string   `json:"check"` // stable, such as "firestore.write"
	Result  Result   `json:"result"`
	Subject string   `json:"subject,omitempty"` // what it is about, where a check looks at several things
	Did     string   `json:"did,omitempty"`     // what was done to find out
	Detail  string   `json:"detail"`
	Mend    []string `json:"mend,omitempty"` // commands, each to be run as it stands
	Hint    string   `json:"hint,omitempty"` // what to do that no command does
}

// Group is the findings about one part of a deployment.
type Group struct {
	Name     string    `json:"name"`
	Findings []Finding `json:"findings"`
}

func (g *Group) add(f Finding) { g.Findings = append(g.Findings, f) }

// ok notes what is as it should be.
func (g *Group) ok(check, did, format string, args ...any) {
	g.add(Finding{Check: check, Result: OK, Did: did, Detail: fmt.Sprintf(format, args...)})
}

// skip notes what was not judged.
func (g *Group) skip(check, format string, args ...any) {
	g.add(Finding{Check: check, Result: Skip, Detail: fmt.Sprintf(format, args...)})
}

// skipAll notes the same reason for several checks.
func (g *Group) skipAll(checks []string, reason string) {
	for _, check := range checks {
		g.skip(check, "%s", reason)
	}
}

// Counts is how many findings there are of each result.
type Counts struct {
	OK   int `json:"ok"`
	Warn int `json:"warn"`
	Fail int `json:"fail"`
	Skip int `json:"skip"`
}

// reportVersion is that of the report's form as JSON. It changes when a field
// goes or means something else, not when one is added.
const reportVersion = 1

// Report is all that an examination found.
type Report struct {
	Version   int      `json:"version"`
	Verdict   Result   `json:"verdict"` // fail, warn or ok, whichever is worst; what was skipped does not count
	Counts    Counts   `json:"counts"`
	Project   string   `json:"project"`
	Database  string   `json:"database"`
	Emulators []string `json:"emulators"` // NAME=HOST:PORT of those in the place of Google's services
	Groups    []Group  `json:"groups"`
}

// judge counts the findings and says what they come to.
func (r *Report) judge() {
	r.Version, r.Verdict, r.Counts = reportVersion, OK, Counts{}
	for _, g := range r.Groups {
		for _, f := range g.Findings {
			switch f.Result {
			case OK:
				r.Counts.OK++
			case Warn:
				r.Counts.Warn++
			case Fail:
				r.Counts.Fail++
			case Skip:
				r.Counts.Skip++
			}
		}
	}
	switch {
	case r.Counts.Fail > 0:
		r.Verdict = Fail
	case r.Counts.Warn > 0:
		r.Verdict = Warn
	}
}

// Of returns the findings of one check, for who asks about that alone.
func (r *Report) Of(check string) []Finding {
	var out []Finding
	for _, g := range r.Groups {
		for _, f := range g.Findings {
			if f.Check == check {
				out = append(out, f)
			}
		}
	}
	return out
}
