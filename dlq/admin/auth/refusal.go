package auth

// Kind tells what a refusal means to who asked.
type Kind string

const (
	// Unauthenticated: there is no credential, or none that holds.
	Unauthenticated Kind = "unauthenticated"
	// Forbidden: it is known who asks, or from where, and they may not.
	Forbidden Kind = "forbidden"
	// Off: nobody may, until the service is started otherwise.
	Off Kind = "off"
	// Unavailable: it cannot be found out now. Asking again may help.
	Unavailable Kind = "unavailable"
)

// Refusal is why somebody was turned away. None of its texts holds a credential.
type Refusal struct {
	Kind      Kind
	Code      string // the reason as one bounded word, for logs
	Name      string // Forbidden: who it is, where that is known
	Detail    string
	Hint      string
	Challenge string // Unauthenticated: for the WWW-Authenticate header
	Err       error  // the cause, where there is one
}

func (r *Refusal) Error() string {
	if r.Err != nil {
		return r.Detail + ": " + r.Err.Error()
	}
	return r.Detail
}

func (r *Refusal) Unwrap() error { return r.Err }
