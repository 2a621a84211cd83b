package dlq

// Role is what an identity may do. A higher one includes those below it.
type Role int

// The roles, least first.
const (
	NoRole   Role = iota
	Viewer        // reads
	Operator      // decides about SAFE_AUTO and REVIEW_REQUIRED, replays what was authorized, pauses lanes
	Security      // authorizes, discards and releases what is blocked
)

// Roles lists the roles that can be given, least first.
func Roles() []Role { return []Role{Viewer, Operator, Security} }

func (r Role) String() string {
	switch r {
	case Viewer:
		return "viewer"
	case Operator:
		return "operator"
	case Security:
		return "security"
	}
	return "none"
}

// ParseRole reads a role's name; ok is false for an unknown one.
func ParseRole(name string) (role Role, ok bool) {
	for _, r := range Roles() {
		if r.String() == name {
			return r, true
		}
	}
	return NoRole, false
}

// Actor is who decides.
type Actor struct {
	Name string // the identity: an email address, or "relay" for the service itself
	Role Role
}

// Service is the actor of what happens by itself. It has no role: the machine
// lists what only it may do.
func Service() Actor { return Actor{Name: "relay"} }
