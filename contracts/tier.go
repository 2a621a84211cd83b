package contracts

// Tier says what may be done with a record that could not be delivered.
type Tier string

// The three tiers, mildest first.
const (
	SafeAuto       Tier = "SAFE_AUTO"       // replays by itself
	ReviewRequired Tier = "REVIEW_REQUIRED" // waits for a person
	SecurityBlock  Tier = "SECURITY_BLOCK"  // alerts and freezes the aggregate
)

// Tiers lists every tier, mildest first.
func Tiers() []Tier { return []Tier{SafeAuto, ReviewRequired, SecurityBlock} }

// Valid reports whether t is one of the three tiers.
func (t Tier) Valid() bool { return t.severity() > 0 }

func (t Tier) severity() int {
	switch t {
	case SafeAuto:
		return 1
	case ReviewRequired:
		return 2
	case SecurityBlock:
		return 3
	}
	return 0
}

// Stricter returns the stricter of t and u. An unknown tier is milder than any
// known one.
func (t Tier) Stricter(u Tier) Tier {
	if u.severity() > t.severity() {
		return u
	}
	return t
}
