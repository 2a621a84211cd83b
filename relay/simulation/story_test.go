package simulation

import (
	"fmt"
	"strings"
	"time"
)

// narrate tells what a scenario is and what happened to the record at fault, to
// others of its aggregate, and to everybody.
func narrate(plan scenario, found result) string {
	var b strings.Builder
	v := found.Faults[0]
	records := 0
	for _, a := range plan.Appends {
		records += len(a.Records)
	}
	fmt.Fprintf(&b, "what is left of seed %d: %d records, %d instances, %d faults, %d ends, %d acts; %+v\n",
		plan.Seed, records, plan.Instances, len(plan.Faults), len(plan.Ends), len(plan.Acts), plan.Size)
	if plan.LateReads > 0 || plan.Equal > 0 || plan.Skew != 0 {
		fmt.Fprintf(&b, "late read times: %.0f %%, equal commit times: %.0f %%, Firestore's clock ahead by %v\n", 100*plan.LateReads, 100*plan.Equal, plan.Skew)
	}
	for _, a := range plan.Appends {
		for _, r := range a.Records {
			if r.Poison.Kind != wholesome || r.Defect != sound {
				fmt.Fprintf(&b, "%s: %s %s %s fails %d times\n", r.key(), r.Defect, r.Poison.Kind, r.Poison.Target, r.Poison.Times)
			}
		}
	}
	fmt.Fprintf(&b, "%s: %s %s\n", v.Judge, v.About, v.Text)
	aggregate, _, _ := strings.Cut(v.About, "-")
	last := ""
	for _, e := range found.Events {
		if e.About != "" && !strings.HasPrefix(e.About, aggregate+"-") {
			continue
		}
		if line := e.String(); line[clockWidth:] != last { // each sweep sees the same
			last = line[clockWidth:]
			fmt.Fprintln(&b, line)
		}
		if e.What == whatViolation && e.About == v.About {
			break
		}
	}
	return b.String()
}

// clock is a time of a run, in seconds.
func clock(d time.Duration) string { return fmt.Sprintf("%*.4f", clockWidth, d.Seconds()) }

const clockWidth = 9
