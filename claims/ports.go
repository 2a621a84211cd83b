package claims

import (
	"context"
	"errors"
	"time"
)

// Ref names a document of a top-level collection.
type Ref struct {
	Collection string
	ID         string
}

// Doc is a document as it was read.
type Doc struct {
	// Fields are Firestore's plain Go values; nil: there is no such document. An error is the value
	// of one that is needed, see Ref.Needed, and cannot be read.
	Fields     map[string]any
	UpdateTime time.Time // zero: there is no such document
	ReadTime   time.Time // by the server's clock
}

// Store is where the handler keeps its documents. Errors answer
// contracts.KindOf and contracts.CodeOf.
type Store interface {
	// Get reads all documents at one time, in the order of refs. One that cannot be read as a whole
	// has those fields that its ref needs; where that needs all, it is an error.
	Get(ctx context.Context, refs ...Ref) ([]Doc, error)
	// Put makes fields the whole content of a document, provided that it still
	// is as it was in before; a before that is no document means that there still
	// is none. It returns the document as it now is. The error of a write that
	// was refused for its condition answers Refused.
	Put(ctx context.Context, ref Ref, before Doc, fields map[string]any) (Doc, error)
}

// User is a user of Firebase Auth.
type User struct {
	Claims map[string]any // the custom ones, as DecodeClaims returns them
	// Created tells a user from one who had the same uid before, and was deleted; zero: Auth does not say.
	Created time.Time
}

// Accounts are the users of Firebase Auth, by uid. Errors answer
// contracts.KindOf and contracts.CodeOf; one that Auth gave with Retry-After
// answers RetryAfter() time.Duration. Each method makes one call, and never
// repeats it by itself.
type Accounts interface {
	// User returns what is known of the user.
	User(ctx context.Context, uid string) (User, error)
	// SetClaims puts claims, as EncodeClaims renders them, in the place of all
	// custom claims of the user.
	SetClaims(ctx context.Context, uid string, claims map[string]any) error
	// RevokeTokens makes every refresh token that the user has invalid. ID
	// tokens that are out stay valid until they expire, within the hour.
	RevokeTokens(ctx context.Context, uid string) error
}

// Signals publishes to topic token-refresh-signal.
type Signals interface {
	// PublishOrdered returns once the message was acknowledged, or with an error
	// that contracts.KindOf and contracts.CodeOf read. Messages of one key reach
	// a subscriber with ordering in the order in which they were published. A
	// failure does not bar the key.
	PublishOrdered(ctx context.Context, key string, data []byte, attributes map[string]string) error
}

// refused reports whether err says that a precondition did not hold.
func refused(err error) bool {
	var r interface{ Refused() bool }
	return errors.As(err, &r) && r.Refused()
}

// retryAfter is how long Auth asked not to be called, or 0.
func retryAfter(err error) time.Duration {
	var r interface{ RetryAfter() time.Duration }
	if errors.As(err, &r) {
		return r.RetryAfter()
	}
	return 0
}
