package cost_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"outboxrelay/cmd/outbox-relay/cost"
	"outboxrelay/contracts"
)

func prices(t *testing.T) *cost.Prices {
	t.Helper()
	p, err := cost.BuiltInPrices()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// estimate is of the command's defaults, changed.
func estimate(t *testing.T, change func(*cost.Workload)) *cost.Estimate {
	t.Helper()
	w := cost.Default(catalog(t, nil), prices(t), 100)
	if change != nil {
		change(w)
	}
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	e, err := cost.New(w)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func quantity(e *cost.Estimate, a cost.Article, what string) (sum float64) {
	for _, l := range e.Lines {
		if l.Article == a && (what == "" || strings.HasPrefix(l.What, what)) {
			sum += l.Quantity
		}
	}
	return sum
}

// million records a month at 100 a second, 30.42 days.
const monthOf100 = 100 * 365.0 / 12 * 86400 / 1e6

func TestEstimateCountsEachRecord(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*cost.Workload)
		article cost.Article
		what    string
		want    float64 // for each record
	}{
		{"appends", nil, cost.FirestoreWrites, "the producers' appends", 1},
		{"marks", nil, cost.FirestoreWrites, "delivered", 1 - 0.00001},
		{"reads", nil, cost.FirestoreReads, "delivered", 2 * (1 - 0.00001)},
		{"reads of a backlog", func(w *cost.Workload) { w.Backlog, w.Dead = 1, 0 }, cost.FirestoreReads, "delivered", 1},
		{"TTL", func(w *cost.Workload) { w.Dead = 0 }, cost.FirestoreExpired, "", 1},
		{"delete reads", func(w *cost.Workload) { w.OnDelivered, w.Dead = contracts.DeleteDelivered, 0 }, cost.FirestoreReads, "delivered", 1},
		{"deletes", func(w *cost.Workload) { w.OnDelivered, w.Dead = contracts.DeleteDelivered, 0 }, cost.FirestoreDeletes, "", 1},
		{"no mark of deleted ones", func(w *cost.Workload) { w.OnDelivered = contracts.DeleteDelivered }, cost.FirestoreWrites, "delivered", 0},
		{"nothing stored of deleted ones", func(w *cost.Workload) { w.OnDelivered = contracts.DeleteDelivered }, cost.FirestoreStorage, "", 0},
		{"retries", func(w *cost.Workload) { w.Failing = 0.5 }, cost.FirestoreWrites, "retries", 0.5},
		{"role changes", func(w *cost.Workload) { w.Claims = 0.25 }, cost.FirestoreReads, "role", 1.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := quantity(estimate(t, c.change), c.article, c.what) / monthOf100
			if math.Abs(got-c.want) > 1e-9 {
				t.Errorf("got %v for each record, want %v", got, c.want)
			}
		})
	}
}

func TestEstimateMultipliesWhatItShould(t *testing.T) {
	base := estimate(t, func(w *cost.Workload) { w.FanOut, w.Claims = 1, 0 })
	for _, c := range []struct {
		name    string
		change  func(*cost.Workload)
		article cost.Article
		what    string
		factor  float64
	}{
		{"twice the targets, twice the messages", func(w *cost.Workload) { w.FanOut, w.Claims = 2, 0 }, cost.PubSubThroughput, "messages published", 2},
		{"thrice the subscriptions, thrice what is delivered", func(w *cost.Workload) { w.FanOut, w.Claims, w.Subscriptions = 1, 0, 3 }, cost.PubSubThroughput, "messages delivered", 3},
		{"a day of retention", func(w *cost.Workload) { w.FanOut, w.Retention = 1, 24*time.Hour }, cost.FirestoreStorage, "", 48.0 / 192},
		{"four instances", func(w *cost.Workload) { w.FanOut, w.Instances = 1, 4 }, cost.RunCPU, "", 2},
		{"canaries every minute", func(w *cost.Workload) { w.FanOut = 1; w.Schedule.Canary *= 3; w.Schedule.Recycle *= 3 }, cost.FirestoreWrites, "idle: canaries", 1.0 / 3},
		{"leases of 30 s", func(w *cost.Workload) { w.FanOut = 1; w.Schedule.Renew *= 2 }, cost.FirestoreWrites, "idle: leases", 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := quantity(estimate(t, c.change), c.article, c.what) / quantity(base, c.article, c.what)
			if math.Abs(got-c.factor) > 1e-9 {
				t.Errorf("got %v times as much, want %v", got, c.factor)
			}
		})
	}
}

func TestEstimateSumsUp(t *testing.T) {
	e := estimate(t, func(w *cost.Workload) { w.Free = true })
	sum := 0.0
	for _, l := range e.Lines {
		sum += l.Cost
		if l.Quantity < 0 && l.What != "free of charge" {
			t.Errorf("%s is negative", l.What)
		}
	}
	if math.Abs(sum-e.Total) > 1e-9 || math.Abs(e.PerMillion*monthOf100-e.Total) > 1e-6 {
		t.Errorf("the lines come to %v, the total is %v and %v for a million", sum, e.Total, e.PerMillion)
	}
	full := estimate(t, nil)
	if got := quantity(full, cost.FirestoreReads, "") - quantity(e, cost.FirestoreReads, ""); math.Abs(got-0.05*365/12) > 1e-9 {
		t.Errorf("%v million reads are free, want 50,000 a day", got)
	}
	if got := quantity(e, cost.Logging, ""); got != 0 {
		t.Errorf("%v GiB of logs are left, want none: they are fewer than what is free", got)
	}
}

func TestShardsFollowTheBusiestLane(t *testing.T) {
	e := estimate(t, func(w *cost.Workload) {
		w.Rate, w.Failing = 1000, 0
		w.Split = map[string]float64{"wsOutbox": 3, "tagOutbox": 1}
	})
	got := map[string]int{}
	for _, s := range e.Shards {
		got[s.Outbox] = s.Needed
	}
	// wsOutbox has 375 records in each of two lanes, tagOutbox 250 in one; each is
	// written twice.
	want := map[string]int{"wsOutbox": 2, "tagOutbox": 1, "accOutbox": 1, "orgOutbox": 1, "skillOutbox": 1, "schedOutbox": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shards (-want +got):\n%s", diff)
	}
	if !strings.Contains(strings.Join(e.Warnings, "\n"), "wsOutbox: declare shards: 2") {
		t.Errorf("nothing is said about wsOutbox: %q", e.Warnings)
	}
}

func TestEstimateWarns(t *testing.T) {
	for want, change := range map[string]func(*cost.Workload){
		"more than 64 shards bear":              func(w *cost.Workload) { w.Rate, w.Split = 50_000, map[string]float64{"tagOutbox": 1} },
		"instances share 6 outboxes and shards": func(w *cost.Workload) { w.Instances = 9 },
		"1 instances of 1 CPU are few":          func(w *cost.Workload) { w.Instances = 1 },
		"GiB of memory are few":                 func(w *cost.Workload) { w.Memory = 0.01 },
		"calls a second to Firebase Auth":       func(w *cost.Workload) { w.Rate, w.Claims = 5000, 1 },
		"no room for its copy":                  func(w *cost.Workload) { w.Payload = 1 << 20 },
		"begin slowly":                          func(w *cost.Workload) { w.Rate = 300 },
	} {
		if got := strings.Join(estimate(t, change).Warnings, "\n"); !strings.Contains(got, want) {
			t.Errorf("no word of %q in %q", want, got)
		}
	}
}

func TestWorkloadNamesWhatIsWrong(t *testing.T) {
	w := cost.Default(catalog(t, nil), prices(t), math.NaN())
	w.Payload, w.FanOut, w.Claims, w.Failing, w.Dead, w.Backlog = 2<<20, -3, -0.5, -0.1, 7, math.NaN()
	w.Retention, w.Instances, w.CPU, w.Memory, w.Subscriptions = -1, -1, 9, 64, -1
	err := w.Validate()
	for _, want := range []string{
		"rate is NaN", "size is 2.097152e+06 bytes", "fan-out is -3", "claims is -0.5", "failing is -0.1", "dead is 7", "backlog is NaN",
		"retention is", "instances are -1", "cpu is 9", "memory is 64 GiB", "subscriptions are -1",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in %v", want, err)
		}
	}
	for want, change := range map[string]func(*cost.Workload){
		`"nowhere", which is no outbox`:    func(w *cost.Workload) { w.Split = map[string]float64{"nowhere": 1} },
		"no outbox a weight":               func(w *cost.Workload) { w.Split = map[string]float64{"wsOutbox": 0} },
		"a weight of -1":                   func(w *cost.Workload) { w.Split = map[string]float64{"wsOutbox": -1} },
		`have no region "mars-north1"`:     func(w *cost.Workload) { w.Region = "mars-north1" },
		"they have europe-west1, us-centr": func(w *cost.Workload) { w.Region = "" },
	} {
		w := cost.Default(catalog(t, nil), prices(t), 100)
		change(w)
		if _, err := cost.New(w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in %v", want, err)
		}
	}
}

func TestPricesNameWhatIsWrong(t *testing.T) {
	for want, change := range map[string]string{
		"date is":                           `date: "2026-09-30"|date: yesterday`,
		"currency is missing":               "currency: USD|currency: \"\"",
		"regions.us-central1.logging is mi": "    logging: {price: 0.5, unit: GiB, source: \"https://cloud.google.com/stackdriver/pricing\"}\n\n|\n",
		"unit is \"billion\", want million": "{price: 0.33, unit: million|{price: 0.33, unit: billion",
		"price is -1":                       "price: 0.33,|price: -1,",
		"source is missing":                 `unit: TiB, source: "https://cloud.google.com/pubsub/pricing"}` + "\n    runCPU|unit: TiB, source: \"\"}\n    runCPU",
		"per is \"year\"":                   "per: day|per: year",
		"free.elephants is no article":      "free:\n|free:\n  elephants: {amount: 1, unit: one, per: day}\n",
		"field elephants not found":         "currency: USD|currency: USD\nelephants: 1",
	} {
		old, replacement, _ := strings.Cut(change, "|")
		text := strings.Replace(string(cost.PricesFile()), old, replacement, 1)
		if text == string(cost.PricesFile()) {
			t.Fatalf("%q changes nothing", old)
		}
		if _, err := cost.ReadPrices(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in %v", want, err)
		}
	}
}

func TestUnits(t *testing.T) {
	for in, want := range map[string]float64{"512": 512, "1KiB": 1024, "1.5 MiB": 1.5 * 1024 * 1024, "2kB": 2000, "0": 0} {
		var got cost.Bytes
		if err := got.UnmarshalText([]byte(in)); err != nil || float64(got) != want {
			t.Errorf("%q is %v bytes, %v; want %v", in, float64(got), err, want)
		}
	}
	for in, want := range map[string]float64{"0.1%": 0.001, "0.25": 0.25, "100 %": 1} {
		var got cost.Share
		if err := got.UnmarshalText([]byte(in)); err != nil || math.Abs(float64(got)-want) > 1e-12 {
			t.Errorf("%q is %v, %v; want %v", in, float64(got), err, want)
		}
	}
	for _, in := range []string{"", "-1", "1 elephant", "KiB", "NaN"} {
		if err := new(cost.Bytes).UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q is taken for a size", in)
		}
	}
	for _, in := range []string{"", "-1%", "101%", "2", "much", "NaN"} {
		if err := new(cost.Share).UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q is taken for a share", in)
		}
	}
}

// TestSizingIsUpToDate: go generate ./cmd/outbox-relay/cost writes the tables.
func TestSizingIsUpToDate(t *testing.T) {
	const page = "../../../docs/SIZING.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want, err := cost.WriteTables(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is out of date, run go generate ./cmd/outbox-relay/cost (-want +got):\n%s", page, diff)
	}
}
