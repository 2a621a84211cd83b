package relay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"outboxrelay/contracts"
	"outboxrelay/dlq"
)

func TestFaultErrorsTellEveryFault(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults int
		bytes  int // of each
		errors int
		named  int
		last   string // "": the last fault
	}{
		{name: "one", faults: 1, bytes: 50, errors: 1, named: 1},
		{name: "as many as have an error each", faults: 40, bytes: 900, errors: 40, named: 40},
		{name: "more", faults: 41, bytes: 50, errors: 3, named: 41},
		{name: "all that a record can have", faults: 400, bytes: 100, errors: 40, named: 400},
		{name: "more than there is room for", faults: 90, bytes: 1000, errors: 40, named: 39, last: "51 more faults"},
		{name: "one too many, of the longest", faults: 41, bytes: 2000, errors: 40, named: 39, last: "2 more faults"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			faults := make(contracts.Faults, tt.faults)
			for i := range faults {
				name := fmt.Sprintf("payload.f%03d.", i)
				faults[i] = contracts.Fault{Field: name, Problem: strings.Repeat("x", tt.bytes-len(name)-1)}
			}
			got := faultErrors(faults, time.Unix(0, 0))
			if len(got) != tt.errors || len(dlq.BoundErrors(got)) != tt.errors {
				t.Errorf("%d errors, want %d", len(got), tt.errors)
			}
			named := 0
			for _, e := range got {
				named += strings.Count(e.Message, "payload.f")
				if len(e.Message) > contracts.MaxErrorBytes {
					t.Errorf("an error of %d bytes", len(e.Message))
				}
			}
			if named != tt.named {
				t.Errorf("%d faults are named, want %d", named, tt.named)
			}
			if last := got[len(got)-1].Message; tt.last != "" && last != tt.last {
				t.Errorf("the last is %q, want %q", last, tt.last)
			}
		})
	}
}
