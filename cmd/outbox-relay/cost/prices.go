package cost

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

//go:embed prices.yaml
var builtInPrices []byte

// Prices are a dated list of what things cost.
type Prices struct {
	Date     string                       `yaml:"date" json:"date"`
	Currency string                       `yaml:"currency" json:"currency"`
	Regions  map[string]map[Article]Price `yaml:"regions" json:"-"`
	Free     map[Article]Free             `yaml:"free" json:"-"`
}

// Price is what one unit of an article costs.
type Price struct {
	Price  float64 `yaml:"price"`
	Unit   string  `yaml:"unit"`
	Source string  `yaml:"source"` // the page that says so
}

// Free is how much of an article is free.
type Free struct {
	Amount float64 `yaml:"amount"`
	Unit   string  `yaml:"unit"`
	Per    string  `yaml:"per"` // day or month
	Source string  `yaml:"source"`
}

// Article is what is paid for.
type Article string

// The articles.
const (
	FirestoreReads   Article = "firestoreReads"
	FirestoreWrites  Article = "firestoreWrites"
	FirestoreDeletes Article = "firestoreDeletes"
	FirestoreExpired Article = "firestoreExpired" // deletes by TTL
	FirestoreStorage Article = "firestoreStorage"
	PubSubThroughput Article = "pubsubThroughput"
	RunCPU           Article = "runCPU"
	RunMemory        Article = "runMemory"
	Logging          Article = "logging"
)

// articles lists them in the order of a bill.
var articles = []Article{
	FirestoreReads, FirestoreWrites, FirestoreDeletes, FirestoreExpired, FirestoreStorage, PubSubThroughput, RunCPU, RunMemory, Logging,
}

// units are what an article is counted in, and how many of the formulas' own
// units (operations, bytes, seconds) that is.
var units = map[Article]struct {
	name string
	size float64
}{
	FirestoreReads: {"million", 1e6}, FirestoreWrites: {"million", 1e6}, FirestoreDeletes: {"million", 1e6}, FirestoreExpired: {"million", 1e6},
	FirestoreStorage: {"GiB-month", gibibyte}, PubSubThroughput: {"TiB", tebibyte},
	RunCPU: {"vCPU-second", 1}, RunMemory: {"GiB-second", 1}, Logging: {"GiB", gibibyte},
}

// Of a month.
const (
	daysOfMonth    = 365.0 / 12
	secondsOfMonth = daysOfMonth * 24 * 3600
)

// BuiltInPrices is the list that the program ships with.
func BuiltInPrices() (*Prices, error) { return ReadPrices(bytes.NewReader(builtInPrices)) }

// PricesFile is the file of that list.
func PricesFile() []byte { return bytes.Clone(builtInPrices) }

// ReadPrices reads a list and names everything that is wrong with it.
func ReadPrices(r io.Reader) (*Prices, error) {
	dec := yaml.NewDecoder(r)
	dec.KnownFields(true)
	var p Prices
	if err := dec.Decode(&p); err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	return &p, nil
}

func (p *Prices) check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
		fault("date is %q, want a day such as 2026-09-30: prices change", p.Date)
	}
	if p.Currency == "" {
		fault("currency is missing")
	}
	if len(p.Regions) == 0 {
		fault("regions is empty")
	}
	for _, region := range slices.Sorted(maps.Keys(p.Regions)) {
		for _, a := range slices.Sorted(maps.Keys(units)) {
			v, ok := p.Regions[region][a]
			where := fmt.Sprintf("regions.%s.%s", region, a)
			switch {
			case !ok:
				fault("%s is missing", where)
			case v.Unit != units[a].name:
				fault("%s: unit is %q, want %s", where, v.Unit, units[a].name)
			case !amount(v.Price):
				fault("%s: price is %v, want 0 or more", where, v.Price)
			case v.Source == "":
				fault("%s: source is missing: the address of the page that says so", where)
			}
		}
		for _, a := range slices.Sorted(maps.Keys(p.Regions[region])) {
			if _, ok := units[a]; !ok {
				fault("regions.%s.%s is no article", region, a)
			}
		}
	}
	for _, a := range slices.Sorted(maps.Keys(p.Free)) {
		v := p.Free[a]
		switch u, ok := units[a]; {
		case !ok:
			fault("free.%s is no article", a)
		case v.Unit != u.name:
			fault("free.%s: unit is %q, want %s", a, v.Unit, u.name)
		case !amount(v.Amount):
			fault("free.%s: amount is %v, want 0 or more", a, v.Amount)
		case v.Per != "day" && v.Per != "month":
			fault("free.%s: per is %q, want day or month", a, v.Per)
		}
	}
	return errors.Join(errs...)
}

func amount(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// In returns the prices of a region.
func (p *Prices) In(region string) (map[Article]Price, error) {
	if prices, ok := p.Regions[region]; ok {
		return prices, nil
	}
	return nil, fmt.Errorf("the prices of %s have no region %q; they have %s; --prices FILE takes others",
		p.Date, region, strings.Join(slices.Sorted(maps.Keys(p.Regions)), ", "))
}

// freeInMonth is how much of an article is free in a month, in its unit.
func (p *Prices) freeInMonth(a Article) float64 {
	f := p.Free[a]
	if f.Per == "day" {
		return f.Amount * daysOfMonth
	}
	return f.Amount
}
